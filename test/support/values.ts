import { type FieldSchema, readValues } from "../../src/wire/field-schema.ts";

/** The values of a body that a schema takes. */
export function valuesOf<F>(schema: FieldSchema<F>, body: Readonly<Record<string, unknown>>): F {
  const read = readValues(schema, body);
  if (!read.ok) throw new Error(`${read.error.name} ${read.error.message}`);
  return read.value;
}
