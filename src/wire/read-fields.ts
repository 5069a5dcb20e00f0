import * as z from "zod";
import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { ANY_FIELDS, type FieldSchema, readerOf } from "./fields.ts";

/** Names of the fields that were sent. */
export interface SentNames {
  /** Names that the endpoint does not know, sorted. */
  readonly unknown: readonly string[];
  /** Names that were sent and that the endpoint knows. */
  readonly known: readonly string[];
}

/** Fields that were read, and their names. */
export interface ReadFields<T> extends SentNames {
  readonly values: T;
}

/**
 * Reads the fields of `schema` from a body or query. A strict schema (`z.strictObject`) refuses names that it does not know:
 * where fields say which things are meant, an ignored one would mean more of them.
 *
 * @param unreadNames names that were sent where no field is read.
 */
export function readFields<T>(
  schema: FieldSchema<T>,
  data: Readonly<Record<string, unknown>>,
  unreadNames: readonly string[] = [],
): Result<ReadFields<T>, Failure> {
  if ((schema as unknown) === ANY_FIELDS) return ok({ values: { ...data } as T, unknown: [], known: [] });
  const names = Object.keys(data).sort();
  const known = names.filter((name) => Object.hasOwn(schema.shape, name));
  const unknown = known.length === names.length ? [] : names.filter((name) => !known.includes(name));
  if (unknown.length + unreadNames.length > 0 && isStrict(schema)) {
    return err({ code: "unknown_fields", names: [...unknown, ...unreadNames] });
  }
  const one = fieldsOf(schema);
  const parsed = one ? readSent(one, data) : readAll(schema, data);
  if (!parsed.ok) return parsed;
  return ok({ values: parsed.value as T, unknown, known });
}

function isStrict(schema: FieldSchema<unknown>): boolean {
  return schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;
}

function readAll<T>(schema: FieldSchema<T>, data: Readonly<Record<string, unknown>>): Result<T, Failure> {
  const parsed = schema.safeParse({ ...data });
  if (parsed.success) return ok(parsed.data);
  const issue = parsed.error.issues[0];
  return err(unreadable(String(issue?.path[0] ?? ""), issue?.message));
}

/** Reads the value of a field that was sent; the error says what it takes. */
type ReadField = (value: unknown) => Result<unknown, string | undefined>;

/** The fields of a schema that reads each field by itself, and their values when none is sent, which are always the same. */
interface SingleFields {
  readonly fields: readonly (readonly [name: string, read: ReadField])[];
  readonly absent: Readonly<Record<string, unknown>>;
}

/** Most requests send few of an endpoint's fields: reading the others too would be most of the work. */
function readSent({ fields, absent }: SingleFields, data: Readonly<Record<string, unknown>>): Result<object, Failure> {
  const values: Record<string, unknown> = { ...absent };
  for (const [name, read] of fields) {
    if (!Object.hasOwn(data, name)) continue;
    const parsed = read(data[name]);
    if (!parsed.ok) return err(unreadable(name, parsed.error));
    values[name] = parsed.value;
  }
  return ok(values);
}

/** The function that reads a field. It leaves zod out where zod would only call the field's own reader. */
function readFieldOf(field: z.ZodType): ReadField {
  const own = readerOf(field);
  if (own) {
    return (value) => {
      const result = own.read(value);
      return result === undefined ? err(`expected ${own.expected}`) : ok(result);
    };
  }
  return (value) => {
    const parsed = field.safeParse(value);
    return parsed.success ? ok(parsed.data) : err(parsed.error.issues[0]?.message);
  };
}

function unreadable(name: string, message = "invalid"): Failure {
  return invalid(`Field validation failed: error converting input for field "${name}": ${message}`);
}

const SINGLE_FIELDS = new WeakMap<FieldSchema<unknown>, SingleFields | "together">();

/** null for a schema that looks at its fields together, or refuses to find none. */
function fieldsOf(schema: FieldSchema<unknown>): SingleFields | null {
  const found = SINGLE_FIELDS.get(schema) ?? splitFields(schema);
  SINGLE_FIELDS.set(schema, found);
  return found === "together" ? null : found;
}

function splitFields(schema: FieldSchema<unknown>): SingleFields | "together" {
  if (!(schema instanceof z.ZodObject) || (schema.def.catchall && !isStrict(schema))) return "together";
  if ((schema.def.checks ?? []).length > 0) return "together";
  const absent = schema.safeParse({});
  if (!absent.success) return "together";
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  return { fields: Object.entries(shape).map(([name, field]) => [name, readFieldOf(field)]), absent: absent.data };
}
