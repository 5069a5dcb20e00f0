import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { type FieldSchema, isObject, readValues } from "../../wire/fields.ts";

/** An invalid part of a document. `pointer` is its JSON pointer. */
export function refused(pointer: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_document", message, pointer });
}

/** The resource of a document. */
export interface Resource {
  /** "" where there is no resource, and in requests of go-tfe, which sends it so; null for a resource that lacks it. */
  readonly type: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Reads the resource of a document. It may come without attributes. `readResource` judges its type. */
export function readDocument({ data }: Readonly<Record<string, unknown>>): Result<Resource, Failure> {
  if (!isObject(data)) return refused("/data", "data must be a resource object");
  const { type = null, attributes = {} } = data;
  if (type !== null && typeof type !== "string") return refused("/data/type", "type must be a string");
  if (!isObject(attributes)) return refused("/data/attributes", "attributes must be an object");
  return ok({ type, attributes });
}

/**
 * Checks a resource that a client sent.
 *
 * @param types the names that its type may have. An empty one is taken too: go-tfe asks for tokens of teams by it.
 * @param schema of the attributes.
 */
export function readResource<A>(
  { type, attributes }: Resource,
  types: readonly string[],
  schema: FieldSchema<A>,
): Result<A, Failure> {
  if (type === null || (type !== "" && !types.includes(type))) return refused("/data/type", `type must be ${types[0]}`);
  const read = readValues(schema, attributes);
  // The message does not name anything below an attribute that the client sent: it would repeat input.
  if (!read.ok) return refused(`/data/attributes/${read.error.name}`, `${read.error.name} ${read.error.message}`);
  const isKnown = (name: string) => schema.others !== "refused" || Object.hasOwn(schema.shape, name);
  if (Object.keys(attributes).every(isKnown)) return read;
  const names = schema.entries.map(([name]) => name);
  return refused("/data/attributes", `the attributes can only be ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
}
