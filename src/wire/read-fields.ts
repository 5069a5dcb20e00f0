import { err, ok, type Result, refuse } from "../base/result.ts";
import { type FieldSchema, readValues } from "./fields.ts";

/** Names of the fields that were sent. */
export interface SentNames {
  /** Sorted names that the endpoint does not know. */
  readonly unknown: readonly string[];
  /** Names that the endpoint knows. */
  readonly known: readonly string[];
}

/** The values of the fields, and the names that were sent. */
export interface ReadFields<T> extends SentNames {
  readonly values: T;
}

/**
 * Reads the fields of `schema` from a body or query.
 *
 * @param unreadNames names in the query of a write, whose fields are read only from the body.
 */
export function readFields<F>(
  schema: FieldSchema<F>,
  data: Readonly<Record<string, unknown>>,
  unreadNames: readonly string[] = [],
): Result<ReadFields<F>> {
  const names = schema.others === "kept" ? [] : Object.keys(data).sort();
  const known = names.filter((name) => Object.hasOwn(schema.shape, name));
  const unknown = known.length === names.length ? [] : names.filter((name) => !known.includes(name));
  const refused = refusedNames(schema.others, unknown, unreadNames);
  if (refused.length > 0) return err({ code: "unknown_fields", names: refused });
  const read = readValues(schema, data);
  if (read.ok) return ok({ values: read.value, unknown, known });
  const { name, message } = read.error;
  return refuse(`Field validation failed: error converting input for field "${name}": ${message}`);
}

function refusedNames(
  others: FieldSchema<unknown>["others"],
  unknown: readonly string[],
  unreadNames: readonly string[],
): readonly string[] {
  if (others === "refused") return [...unknown, ...unreadNames];
  return others === "bounds refused" ? unknown.filter((name) => /(^|_)bound_/.test(name)) : [];
}

/** Returns JSON values without the undefined ones. */
export function onlySent<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return JSON.parse(JSON.stringify(fields));
}
