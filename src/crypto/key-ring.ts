import type { Ms } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { err, ok, type Result } from "../base/result.ts";
import { concat, fromBase64, fromBase64Url, randomBytes, toBase64, toBase64Url } from "./bytes.ts";
import { RowKeys } from "./row-keys.ts";

/** A term: one version of the keys that a rotation replaces. All strings are base64 of 32 bytes. */
export interface KeyTerm {
  /** Counts up from 1. */
  readonly version: number;
  /** The data key: the keys of batch tokens and sealed values are derived from it. */
  readonly key: string;
  /** HMAC key of the hashes of tokens. */
  readonly tokens: string;
  readonly installedAt: Ms;
  /** From this time on, new values and hashes use the term: by then every isolate has read it. */
  readonly usedFrom: Ms;
}

/**
 * The keys of an installation, as text that can be sealed and stored. `identity` is the HMAC key of the tags in
 * accessors, lease ids and ids of registered credentials. It never rotates: an id must stay valid as long as what it
 * names, and a tag grants no access. `audit` is the HMAC key of the hashes in audit lines. `data` are the terms, newest
 * last; older terms are kept for reading.
 */
export interface KeyRing {
  readonly identity: string;
  readonly audit: string;
  readonly data: readonly KeyTerm[];
}

interface TermKeys extends Pick<KeyTerm, "version" | "installedAt" | "usedFrom"> {
  readonly data: DataKey;
  /** HMAC key of the hashes of tokens. */
  readonly tokens: CryptoKey;
}

/** The key ring ready for use. */
export interface Keys {
  readonly identity: CryptoKey;
  readonly audit: CryptoKey;
  /** Newest first. */
  readonly terms: readonly [TermKeys, ...TermKeys[]];
  readonly rows: RowKeys;
}

/** A seal key: 32 bytes that wrap the key ring, and a version, by which a wrapped ring names its seal key. */
export interface SealKey {
  readonly version: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const SEAL_KEY = /^([1-9]\d{0,5}):([A-Za-z0-9+/]{43}=)$/;

export function newKeyRing(now: Ms): KeyRing {
  return { identity: newKey(), audit: newKey(), data: [newTerm(1, now, now)] };
}

/** `ring` with a new term, whose keys are used for new values and hashes from `usedFrom` on. */
export function withNewTerm(ring: KeyRing, now: Ms, usedFrom: Ms): KeyRing {
  return { ...ring, data: [...ring.data, newTerm(newestTerm(ring).version + 1, now, usedFrom)] };
}

/** `ring` without the terms of these versions; null when it has none of them. The newest term stays. */
export function withoutTerms(ring: KeyRing, versions: ReadonlySet<number>): KeyRing | null {
  const data = ring.data.filter(({ version }, at) => at === ring.data.length - 1 || !versions.has(version));
  return data.length === ring.data.length ? null : { ...ring, data };
}

export function newestTerm(ring: KeyRing): KeyTerm {
  const newest = ring.data.at(-1);
  if (!newest) throw new Error("the key ring has no term");
  return newest;
}

function newTerm(version: number, installedAt: Ms, usedFrom: Ms): KeyTerm {
  return { version, key: newKey(), tokens: newKey(), installedAt, usedFrom };
}

function newKey(): string {
  return toBase64(randomBytes(KEY_BYTES));
}

/** Reads a seal key of the form `<version>:<base64 of 32 bytes>`. The error does not repeat the text. */
export function parseSealKey(text: string): Result<SealKey, string> {
  const match = SEAL_KEY.exec(text.trim());
  const bytes = match ? fromBase64(match[2] ?? "") : null;
  if (!match || !bytes || bytes.length !== KEY_BYTES) {
    return err("must be <version>:<base64 of 32 bytes>, for example 1:$(openssl rand -base64 32)");
  }
  return ok({ version: Number(match[1]), bytes });
}

/** The key ring wrapped with `sealKey`: `<version>.<nonce>.<ciphertext>`. */
export async function sealKeyRing(ring: KeyRing, sealKey: SealKey): Promise<string> {
  const nonce = randomBytes(NONCE_BYTES);
  const key = await aesKey(sealKey.bytes, "encrypt");
  const plain = new TextEncoder().encode(JSON.stringify(ring));
  const sealed = await crypto.subtle.encrypt(aesParams(nonce, sealKey.version), key, plain);
  return `${sealKey.version}.${toBase64Url(nonce)}.${toBase64Url(new Uint8Array(sealed))}`;
}

/** The version of the seal key that wrapped `sealed`, or null when it is not a sealed key ring. */
export function sealedWithVersion(sealed: string): number | null {
  const version = Number(sealed.split(".")[0]);
  return Number.isInteger(version) && version > 0 ? version : null;
}

/** Unwraps a key ring. Null when the key is not the one that wrapped it or the text was changed. */
export async function unsealKeyRing(sealed: string, sealKey: SealKey): Promise<KeyRing | null> {
  const [version, nonceText, cipherText] = sealed.split(".");
  const nonce = fromBase64Url(nonceText ?? "");
  const cipher = fromBase64Url(cipherText ?? "");
  if (Number(version) !== sealKey.version || !nonce || nonce.length !== NONCE_BYTES || !cipher) return null;
  const key = await aesKey(sealKey.bytes, "decrypt");
  try {
    const plain = await crypto.subtle.decrypt(aesParams(nonce, sealKey.version), key, cipher);
    // The seal key authenticates the text, so it has the form in which `sealKeyRing` wrote it.
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return null;
  }
}

export async function importKeys(ring: KeyRing): Promise<Keys> {
  const hmac = (text: string) =>
    crypto.subtle.importKey("raw", bytesOf(text), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const newestFirst = ring.data.toReversed();
  const imported = newestFirst.map(async ({ version, installedAt, usedFrom, key, tokens }) => ({
    version,
    installedAt,
    usedFrom,
    data: new DataKey(await hmac(key)),
    tokens: await hmac(tokens),
  }));
  const [newest, ...older] = await Promise.all(imported);
  if (!newest) throw new Error("the key ring has no term");
  return {
    identity: await hmac(ring.identity),
    audit: await hmac(ring.audit),
    terms: [newest, ...older],
    rows: rowKeysOf(ring),
  };
}

/** The keys of `ring` for seals of rows. */
export function rowKeysOf(ring: KeyRing): RowKeys {
  const terms = ring.data.toReversed().map(({ version, usedFrom, key }) => ({ version, usedFrom, root: bytesOf(key) }));
  return new RowKeys(terms);
}

/** HMAC-SHA256 of `parts` under `key`: 32 bytes. */
export async function keyedHash(
  key: CryptoKey,
  first: Uint8Array,
  ...more: Uint8Array[]
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = more.length === 0 ? first : concat(first, ...more);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
}

function aesParams(nonce: Uint8Array<ArrayBuffer>, version: number) {
  return { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(`grove key ring ${version}`) };
}

function aesKey(bytes: Uint8Array<ArrayBuffer>, use: "encrypt" | "decrypt"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [use]);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(text);
  if (!bytes || bytes.length !== KEY_BYTES) throw new Error("the key ring holds a key of the wrong length");
  return bytes;
}

/** Maximum number of day keys in one generation of the cache: more days than a busy isolate reads values of. */
const MAX_DAYS = 256;

/**
 * One version of the data key. It encrypts nothing itself: the key of each day is derived from it. An AES-GCM key with
 * random nonces of 96 bits may encrypt about 2^32 values. A day does not reach that number, but a year may.
 */
export class DataKey {
  readonly #root: CryptoKey;
  readonly #days = new GenerationalCache<number, CryptoKey>(MAX_DAYS);
  #encryptions = 0;

  /** @param root an HMAC-SHA-256 key. */
  constructor(root: CryptoKey) {
    this.#root = root;
  }

  /** The AES-256-GCM key of a day. @param day days since 1970, 0 to 65,535. */
  async ofDay(day: number): Promise<CryptoKey> {
    const known = this.#days.get(day);
    if (known) return known;
    const label = new TextEncoder().encode(`grove data key of day ${day}`);
    const bytes = await crypto.subtle.sign("HMAC", this.#root, label);
    return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  }

  /** Caches the key of a day. Call it only after a value was sealed or opened: a forged value can name any day. */
  keep(day: number, key: CryptoKey): void {
    if (!this.#days.get(day)) this.#days.set(day, key, 1);
  }

  noteEncryptions(count: number): void {
    this.#encryptions += count;
  }

  /** Returns the number of encryptions since the last call. */
  takeEncryptions(): number {
    const count = this.#encryptions;
    this.#encryptions = 0;
    return count;
  }
}
