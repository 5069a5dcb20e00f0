import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { fromBase64, toBase64 } from "../../../crypto/bytes.ts";
import { fromBase64Text } from "../encoding.ts";
import { formatRoleTag, MAX_TAG_VALUE_BYTES, parseRoleTagText, type RoleTag, roleTagProblem } from "./role-tag.ts";

/** A tag value whose signature is not verified yet: its key belongs to the role that the value names. */
export type UnverifiedTag = {
  readonly tag: RoleTag;
  /** The whole value. There is only one for this tag, so it can key the deny list. */
  readonly value: string;
  readonly signed: string;
  readonly mac: Uint8Array<ArrayBuffer>;
};

const MAC_BYTES = 32;

/** A key for the tags of a new role: a UUID, whose text is the key. */
export function newTagKey(): string {
  return crypto.randomUUID();
}

/** Makes the value of a tag: its text and an HMAC-SHA256 of the text under the role's key. */
export async function signRoleTag(tag: RoleTag, key: string): Promise<Result<string, Failure>> {
  const problem = roleTagProblem(tag);
  if (problem !== null) return err(invalid(problem));
  const text = formatRoleTag(tag);
  const mac = await crypto.subtle.sign("HMAC", await importKey(key), encode(text));
  const value = `${text}:${toBase64(new Uint8Array(mac))}`;
  if (value.length > MAX_TAG_VALUE_BYTES) {
    return err(invalid(`role tag 'value' exceeding the limit of ${MAX_TAG_VALUE_BYTES} characters`));
  }
  return ok(value);
}

/** Reads a tag value in its one spelling. */
export function readTagValue(value: string): Result<UnverifiedTag, Failure> {
  const end = value.lastIndexOf(":");
  if (end < 0 || value.length > MAX_TAG_VALUE_BYTES) return err(invalid("invalid tag"));
  const mac = fromBase64(value.slice(end + 1));
  if (mac?.length !== MAC_BYTES) return err(invalid("invalid tag"));
  const signed = value.slice(0, end);
  const tag = parseRoleTagText(signed);
  return tag.ok ? ok({ tag: tag.value, value, signed, mac }) : tag;
}

/** Checks the signature of a tag with the key of the role that it names. The comparison takes constant time. */
export async function verifyRoleTag(unverified: UnverifiedTag, key: string): Promise<Result<RoleTag, Failure>> {
  const genuine = await crypto.subtle.verify("HMAC", await importKey(key), unverified.mac, encode(unverified.signed));
  return genuine ? ok(unverified.tag) : err(invalid("role tag signature verification failed"));
}

/** The tag value of a deny list path: supplied as it is or as base64. A tag holds colons, so it never is base64. */
export function tagValueOfPath(text: string): string {
  return fromBase64Text(text) ?? text;
}

function importKey(key: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
