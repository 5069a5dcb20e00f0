import { parseRfc3339 } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fromUtf8 } from "../../../crypto/bytes.ts";
import { exactString } from "../../../wire/exact-fields.ts";
import { type Field, fieldSchema, readValues } from "../../../wire/fields.ts";
import { foldCase, type JsonObject, parseStrictObject } from "../encoding.ts";

/** The instance identity document. */
export type IdentityDocument = {
  /** 12 digits. */
  readonly accountId: string;
  readonly instanceId: string;
  readonly imageId: string;
  readonly region: string;
  /** Time of the last start of the instance, as written in the document (RFC 3339). */
  readonly pendingTime: string;
  /** The same in ms. */
  readonly pendingTimeMs: number;
};

/** Maximum size of a document, which has some 500 bytes. */
export const MAX_DOCUMENT_BYTES = 4 * 1024;

const FIELDS = fieldSchema({
  accountId: matching(/^\d{12}$/),
  instanceId: matching(/^i-[0-9a-z]{1,32}$/),
  imageId: matching(/^ami-[0-9a-z]{1,32}$/),
  region: matching(/^[a-z]{2,4}(-[a-z]{2,16}){1,3}-\d{1,2}$/),
  pendingTime: matching(/^/),
});

const FIELD_BY_FOLDED_NAME: ReadonlyMap<string, string> = new Map(
  Object.keys(FIELDS.shape).map((name) => [foldCase(name), name]),
);

/**
 * Reads an instance identity document: a JSON object in UTF-8 with the fields above. A name that is repeated, or that
 * differs from a field only in case, is refused: another parser could read it as the field. Other fields are ignored.
 */
export function parseIdentityDocument(bytes: Uint8Array): Result<IdentityDocument> {
  if (bytes.length > MAX_DOCUMENT_BYTES) return refuse("instance identity document is too large");
  const text = fromUtf8(bytes);
  const object = text === null ? null : parseStrictObject(text);
  if (object === null) return refuse("instance identity document is not a JSON object with unique names");
  if (hasRecasedField(object)) return refuse("instance identity document has a field in another casing");

  const fields = readValues(FIELDS, object);
  if (!fields.ok) return refuse(`instance identity document has no valid ${fields.error.name}`);
  const pendingTimeMs = parseRfc3339(fields.value.pendingTime);
  if (pendingTimeMs === null) return refuse("instance identity document has no valid pendingTime");
  return ok({ ...fields.value, pendingTimeMs });
}

function matching(pattern: RegExp): Field<string> {
  return exactString("is missing", (value) => (pattern.test(value) ? null : "is invalid"));
}

function hasRecasedField(object: JsonObject): boolean {
  return Object.keys(object).some((name) => (FIELD_BY_FOLDED_NAME.get(foldCase(name)) ?? name) !== name);
}
