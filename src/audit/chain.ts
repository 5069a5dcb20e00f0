import { createHash } from "node:crypto";
import { fromBase64Url, toBase64Url } from "../crypto/bytes.ts";

/** The state of a hash chain after a record: the number of records, and the digest over all of them. */
export interface Head {
  /** Number of the last record, counted from 1 in each object; 0 before the first. */
  readonly seq: number;
  /** SHA-256 of the previous digest and the line of the record, in base64url. */
  readonly digest: string;
}

/** The digest that the chain of a shard's first object begins with. */
export const FIRST_DIGEST = toBase64Url(new Uint8Array(32));

/** The digest after `lines`. It needs no key, so anybody can compute it from an archive. */
export function digestAfter(digest: string, lines: readonly string[]): string {
  const begins: Uint8Array = fromBase64Url(digest) ?? new Uint8Array();
  return toBase64Url(lines.reduce((before, line) => createHash("sha256").update(before).update(line).digest(), begins));
}
