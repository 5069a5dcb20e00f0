import type { z } from "zod";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";

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
export function readResource<T>(
  { type, attributes }: Resource,
  types: readonly string[],
  schema: z.ZodType<T>,
): Result<T, Failure> {
  if (type === null || (type !== "" && !types.includes(type))) return refused("/data/type", `type must be ${types[0]}`);
  const parsed = schema.safeParse(attributes);
  if (parsed.success) return ok(parsed.data);
  const [issue] = parsed.error.issues;
  const [name] = issue?.path ?? [];
  const message = issue?.message ?? "is invalid";
  // The message does not name anything below an attribute that the client sent: it would repeat input.
  return name === undefined
    ? refused("/data/attributes", `the attributes ${message}`)
    : refused(`/data/attributes/${String(name)}`, `${String(name)} ${message}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
