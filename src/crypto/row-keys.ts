import { createHmac } from "node:crypto";
import type { Ms } from "../base/clock.ts";
import { concat, equalBytes, toBase64Url } from "./bytes.ts";

/** The part of a row that a seal covers. */
export type SealedContent = readonly (string | number | null | Uint8Array)[];

/** The place of a row. The seal covers it, so a row with its seal can't be copied to another place. */
export interface RowPlace {
  /** Kind of the row, for example "token". */
  readonly kind: string;
  /** Id of the object that stores the row. */
  readonly object: string;
  /** Key of the row in its table. */
  readonly row: string | number;
}

/** The verdict on a row by its seal. "renew": genuine, but sealed under an older term than the one in use. */
export type SealVerdict = "good" | "renew" | "forged";

/** Kinds of sealed rows. Every row of these kinds is written together with its seal, in one transaction. */
export type SealedKind =
  | "token"
  | "policy"
  | "policy version"
  | "mount"
  | "token role"
  | "cloud setting"
  | "cloud certificate"
  | "cloud sts role"
  | "cloud role"
  | "access list entry"
  | "deny list entry"
  | "entity"
  | "entity name"
  | "entity merge"
  | "merged entity"
  | "group"
  | "group member"
  | "group in group"
  | "group alias"
  | "team"
  | "team token"
  | "team notice"
  | "organization"
  | "webhook"
  | "jwt setting"
  | "jwt role"
  | "jwt pending login"
  | "app role setting"
  | "app role"
  | "app role id"
  | "secret id"
  | "token parent"
  | "kubernetes setting"
  | "kubernetes role"
  | "issuer"
  | "issuer key"
  | "issuer key version"
  | "issuer role"
  | "watermark"
  | "lease walk"
  | "directory version"
  | "key rotation"
  | "list opening"
  | "rate limit quota"
  | "quota setting"
  | "system mark"
  | "audit object"
  | "audit object number"
  | "audit backlog"
  | "audit batch"
  | "audit directory entry";

/** Length of a seal in bytes: 2 for the version of its term, and the first 16 of an HMAC-SHA256. */
export const SEAL_BYTES = 18;
const VERSION_BYTES = 2;
const LABEL = "grove row seals";

/**
 * Makes and checks the seals of rows that decide about access, so that an attacker who can write the storage of an
 * object can't forge or change such a row. Synchronous, for use within a transaction.
 */
export class RowKeys {
  /** Newest first. */
  readonly #terms: readonly { readonly version: number; readonly key: Uint8Array; readonly usedFrom: Ms }[];

  /** @param terms the key terms, newest first, each with its root key of 32 bytes. */
  constructor(terms: readonly { readonly version: number; readonly root: Uint8Array; readonly usedFrom: Ms }[]) {
    this.#terms = terms.map(({ version, root, usedFrom }) => ({ version, key: hmac(root, LABEL), usedFrom }));
  }

  seal(place: RowPlace, content: SealedContent, now: Ms): Uint8Array<ArrayBuffer> {
    const { version, key } = termInUse(this.#terms, now);
    return sealUnder(version, key, place, content);
  }

  /** Checks the seal of a row. @param seal null when the row has none: it counts as forged. */
  check(place: RowPlace, content: SealedContent, seal: Uint8Array | null, now: Ms): SealVerdict {
    if (seal?.length !== SEAL_BYTES) return "forged";
    const version = new DataView(seal.buffer, seal.byteOffset).getUint16(0);
    const term = this.#terms.find((known) => known.version === version);
    if (!term || !equalBytes(seal, sealUnder(version, term.key, place, content))) return "forged";
    return version < termInUse(this.#terms, now).version ? "renew" : "good";
  }
}

/** The term under which values, tokens and seals are made at `now`. @param terms newest first. */
export function termInUse<T extends { readonly usedFrom: Ms }>(terms: readonly T[], now: Ms): T {
  const term = terms.find(({ usedFrom }) => usedFrom <= now) ?? terms.at(-1);
  if (!term) throw new Error("the key ring has no term");
  return term;
}

function sealUnder(
  version: number,
  key: Uint8Array,
  { kind, object, row }: RowPlace,
  content: SealedContent,
): Uint8Array<ArrayBuffer> {
  const values = content.map((value) => (value instanceof Uint8Array ? toBase64Url(value) : value));
  const head = new Uint8Array(VERSION_BYTES);
  new DataView(head.buffer).setUint16(0, version);
  const tag = hmac(key, JSON.stringify([kind, object, row, ...values]));
  return concat(head, tag.subarray(0, SEAL_BYTES - VERSION_BYTES));
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}
