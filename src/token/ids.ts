import type { Ms } from "../base/clock.ts";
import { concat, equalBytes, fromBase64Url, fromHex, randomBytes, toBase64Url, toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { termInUse } from "../crypto/row-keys.ts";

/**
 * Generated service tokens and accessors contain the address of their tree:
 *
 *     tree id (32 bytes) | row in the tree (7 bytes) | random (16 bytes) | tag (8 bytes)
 *
 * in base64url (63 bytes make 84 characters without spare bits), a token with the prefix `s.` before it. The tag is the
 * beginning of a keyed hash over the rest, so a forged or mistyped one is refused before any object wakes. The other 24
 * bytes of the same hash are what the tree stores of a token: the token can't be rebuilt from the storage of a tree.
 */
const TREE_BYTES = 32;
const ROW_BYTES = 7;
const RANDOM_BYTES = 16;
const TAG_BYTES = 8;
/** Bytes of tree id and row at the beginning of every id that contains its address. */
export const ADDRESS_BYTES = TREE_BYTES + ROW_BYTES;
const ID_BYTES = ADDRESS_BYTES + RANDOM_BYTES + TAG_BYTES;
const ID_LENGTH = (ID_BYTES / 3) * 4;

export const SERVICE_PREFIX = "s.";
export const BATCH_PREFIX = "b.";

/** Characters of a generated service token. */
export const SERVICE_TOKEN_LENGTH = SERVICE_PREFIX.length + ID_LENGTH;

/** Address of a token or an accessor: the object id of the tree in hex and the row in the tree. */
export interface TokenAddress {
  readonly treeId: string;
  readonly row: number;
}

/** True for two addresses of one token. */
export function isSameAddress(one: TokenAddress, other: TokenAddress): boolean {
  return one.treeId === other.treeId && one.row === other.row;
}

/** Address and verifier of a token, which its tree checks. */
export interface TokenCredential extends TokenAddress {
  /** 24 bytes of a keyed hash of the token; the tree compares them with the stored ones. */
  readonly verifier: Uint8Array<ArrayBuffer>;
}

/** A row with the tail of its id. The tree compares the tail, so that it does not take another row for this one. */
export interface RowAndTail {
  readonly row: number;
  /** The random part and the tag of an accessor or a lease id: 24 bytes. */
  readonly tail: Uint8Array;
}

/** Address and tail of an accessor or a lease id, which its tree checks. */
export type AccessorCredential = TokenAddress & RowAndTail;

/** Ids of a new token. They are generated before its tree writes it. */
export interface NewTokenIds {
  readonly row: number;
  readonly token: string;
  readonly verifier: Uint8Array<ArrayBuffer>;
  readonly accessor: string;
  readonly accessorTail: Uint8Array<ArrayBuffer>;
  /** The seal of the row. Only for the first token of an installation: its tree has no keys yet and can't seal it. */
  readonly seal?: Uint8Array<ArrayBuffer>;
}

/** Rows count ms from here, so that they stay below 2^53 (the largest exact number) until 2095. */
const ROW_EPOCH_MS = Date.UTC(2026, 0, 1);

const TOKEN_LABEL = new TextEncoder().encode("service token\0");
const ACCESSOR_LABEL = new TextEncoder().encode("accessor\0");
const CUSTOM_LABEL = new TextEncoder().encode("custom token id\0");

/**
 * Generates a row number for a token made at `now`: the time and 12 random bits. It is above `above`, which a tree
 * requires after the clock was set back. Rows grow with time, so new ones are appended and the storage stays dense. Two
 * numbers of the same ms in one tree can be equal. The tree refuses the second one, and any number that a deleted token
 * may have had; the caller generates another.
 */
export function newRow(now: Ms, above = 0): number {
  if (now < ROW_EPOCH_MS) throw new Error("the clock stands before 2026");
  const random = new DataView(randomBytes(2).buffer).getUint16(0) & 0xfff;
  return Math.max((now - ROW_EPOCH_MS) * 4096, above + 1) + random;
}

/** Attempts to generate a free row before a creation fails. A second attempt is needed about once in thousands. */
export const MAX_ROW_ATTEMPTS = 5;

export function rowGeneratedAt(row: number): Ms {
  return Math.floor(row / 4096) + ROW_EPOCH_MS;
}

/** The lowest row number that is generated at `ms` or later. */
export function firstRowAt(ms: Ms): number {
  return Math.max(0, (ms - ROW_EPOCH_MS) * 4096);
}

/** Generates the ids of a token, with the text `customId` or a generated one. For `above` see `newRow`. */
export async function newTokenIds(
  keys: Keys,
  treeId: string,
  now: Ms,
  customId?: string,
  above = 0,
): Promise<NewTokenIds> {
  const row = newRow(now, above);
  const { text: accessor, tail: accessorTail } = await newRoutedId(keys, ACCESSOR_LABEL, { treeId, row });
  if (customId !== undefined) {
    const [{ verifier }] = await customIdHashes(keys, customId, now);
    return { row, token: customId, verifier, accessor, accessorTail };
  }
  const body = concat(addressBytes(treeId, row), randomBytes(RANDOM_BYTES));
  const hash = await keyedHash(termInUse(keys.terms, now).tokens, TOKEN_LABEL, body);
  const token = SERVICE_PREFIX + toBase64Url(concat(body, hash.subarray(0, TAG_BYTES)));
  return { row, token, verifier: hash.slice(TAG_BYTES), accessor, accessorTail };
}

/** Reads a generated service token. Null for anything that this installation did not make. */
export async function readServiceToken(keys: Keys, text: string): Promise<TokenCredential | null> {
  if (!text.startsWith(SERVICE_PREFIX)) return null;
  const parts = split(text.slice(SERVICE_PREFIX.length));
  if (!parts) return null;
  for (const { tokens } of keys.terms) {
    const hash = await keyedHash(tokens, TOKEN_LABEL, parts.body);
    if (!equalBytes(hash.subarray(0, TAG_BYTES), parts.tag)) continue;
    return { ...parts.address, verifier: hash.slice(TAG_BYTES) };
  }
  return null;
}

/** Reads an accessor. Null for anything that this installation did not make. */
export function readAccessor(keys: Keys, text: string): Promise<AccessorCredential | null> {
  return readRoutedId(keys, ACCESSOR_LABEL, text);
}

/** Generates an id of the kind `label` that contains its address: an accessor, or the id of a lease. */
export async function newRoutedId(
  keys: Keys,
  label: Uint8Array,
  { treeId, row }: TokenAddress,
): Promise<{ readonly text: string; readonly tail: Uint8Array<ArrayBuffer> }> {
  const body = concat(addressBytes(treeId, row), randomBytes(RANDOM_BYTES));
  const tag = (await keyedHash(keys.identity, label, body)).subarray(0, TAG_BYTES);
  const tail = concat(body.subarray(ADDRESS_BYTES), tag);
  return { text: routedIdText(treeId, row, tail), tail };
}

/** Reads an id of the kind `label`. Null for anything that this installation did not make. */
export async function readRoutedId(keys: Keys, label: Uint8Array, text: string): Promise<AccessorCredential | null> {
  const parts = split(text);
  if (!parts) return null;
  const hash = await keyedHash(keys.identity, label, parts.body);
  return equalBytes(hash.subarray(0, TAG_BYTES), parts.tag) ? { ...parts.address, tail: parts.tail } : null;
}

/** Decodes an id from our own storage, without a check of its tag. Null for a text of another form. */
export function decodeStoredId(text: string): AccessorCredential | null {
  const parts = split(text);
  return parts && { ...parts.address, tail: parts.tail };
}

/** The tree id in an id from our own storage; "" for a text of another form. */
export function treeIdOf(text: string): string {
  return decodeStoredId(text)?.treeId ?? "";
}

/** Builds the text of an accessor, or of the id of a lease, from the row and the tail that the tree stores. */
export function routedIdText(treeId: string, row: number, tail: Uint8Array): string {
  return toBase64Url(concat(addressBytes(treeId, row), tail));
}

/** Characters at the beginning of an id that encode nothing but the tree id. */
export const TREE_CHARACTERS = Math.floor((TREE_BYTES * 4) / 3);

/** The beginning of an accessor, or of the id of a lease, that encodes its tree id. */
export function treePartOf(id: string): string {
  return id.slice(0, TREE_CHARACTERS);
}

/** The prefix that all accessors and lease ids of a tree have, and those of no other tree. */
export function treeBeginning(treeId: string): string {
  return treePartOf(routedIdText(treeId, 0, new Uint8Array()));
}

/** Characters at the beginning of an accessor, or of a token after its prefix, that encode its address and no more. */
const ADDRESS_CHARACTERS = (ADDRESS_BYTES * 4) / 3;

/** The beginning that only the accessor of the token at this address has. */
export function addressBeginning({ treeId, row }: TokenAddress): string {
  return toBase64Url(addressBytes(treeId, row));
}

/** Reads the address in a token or an accessor that may be cut off or mistyped after it. Nothing of it is checked. */
export function claimedAddress(text: string): TokenAddress | null {
  const id = text.startsWith(SERVICE_PREFIX) ? text.slice(SERVICE_PREFIX.length) : text;
  const bytes = id.length < ADDRESS_CHARACTERS ? null : fromBase64Url(id.slice(0, ADDRESS_CHARACTERS));
  return bytes && readAddress(bytes);
}

/** The undamaged end of a token or an accessor whose beginning, which has most of the tree id, may be damaged. */
interface IdEnd {
  readonly row: number;
  /** The random part and the tag. */
  readonly tail: Uint8Array<ArrayBuffer>;
}

/** Characters at the end of an id that have the row, the random part and the tag, and the last 2 bytes of the tree id. */
const END_CHARACTERS = 44;
const TREE_BYTES_AT_END = (END_CHARACTERS * 3) / 4 - (ID_BYTES - TREE_BYTES);

/** Reads the end of a token or an accessor. Nothing of it is checked; null for a text of another form. */
export function claimedEnd(text: string): IdEnd | null {
  const bytes = text.length < END_CHARACTERS ? null : fromBase64Url(text.slice(-END_CHARACTERS));
  if (!bytes) return null;
  const { row } = readAddress(concat(new Uint8Array(TREE_BYTES - TREE_BYTES_AT_END), bytes));
  const isPossible = Number.isSafeInteger(row);
  return isPossible ? { row, tail: bytes.slice(TREE_BYTES_AT_END + ROW_BYTES) } : null;
}

/** True when the end is that of a token, or of an accessor, of this tree: its tag proves it. */
export async function isEndInTree(keys: Keys, treeId: string, { row, tail }: IdEnd): Promise<boolean> {
  const id = routedIdText(treeId, row, tail);
  return (await readServiceToken(keys, SERVICE_PREFIX + id)) !== null || (await readAccessor(keys, id)) !== null;
}

const MAX_CUSTOM_ID = 256;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** Why `id` can't be a custom id, or null. The first three messages are the reference's (test/conformance/lines.json T8). */
export function checkCustomId(id: string): string | null {
  if (id.startsWith("hvs.")) return "custom token ID cannot have the 'hvs.' prefix";
  if (id.startsWith("s.")) return "custom token ID cannot have the 's.' prefix";
  if (id.includes(".")) return "custom token ID cannot have a '.' in the value";
  if (id.length > MAX_CUSTOM_ID) return `custom token ID cannot be longer than ${MAX_CUSTOM_ID} characters`;
  if (!PRINTABLE.test(id)) return "custom token ID can only have printable ASCII characters without spaces";
  return null;
}

/** True when `text` has the form of a custom id; no other string is looked up in the directory. */
export function couldBeCustomId(text: string): boolean {
  return text !== "" && checkCustomId(text) === null;
}

/** The parts of the keyed hash of a token id that a root caller chose. No store holds enough to check an id alone. */
export interface CustomIdHash {
  /** The whole hash. Never stored: the list of custom ids has its first 4 bytes. */
  readonly whole: Uint8Array<ArrayBuffer>;
  /** Key in the directory of custom ids: the first 8 bytes, in hex. */
  readonly directoryKey: string;
  /** The other 24 bytes, which the tree stores. */
  readonly verifier: Uint8Array<ArrayBuffer>;
}

/**
 * The hashes of a token id that a root caller chose, under the token key of each term. A token is stored under the hash
 * of the term in which it was made. The first one is for a token that is made now.
 */
export async function customIdHashes(
  keys: Keys,
  text: string,
  now: Ms,
): Promise<readonly [CustomIdHash, ...CustomIdHash[]]> {
  const inUse = termInUse(keys.terms, now);
  const others = keys.terms.filter((term) => term !== inUse).map(({ tokens }) => customIdHash(tokens, text));
  return [await customIdHash(inUse.tokens, text), ...(await Promise.all(others))];
}

async function customIdHash(key: CryptoKey, text: string): Promise<CustomIdHash> {
  const hash = await keyedHash(key, CUSTOM_LABEL, new TextEncoder().encode(text));
  return { whole: hash, directoryKey: toHex(hash.subarray(0, TAG_BYTES)), verifier: hash.slice(TAG_BYTES) };
}

function split(text: string) {
  if (text.length !== ID_LENGTH) return null;
  const bytes = fromBase64Url(text);
  if (!bytes || bytes.length !== ID_BYTES) return null;
  return {
    address: readAddress(bytes),
    tail: bytes.slice(ADDRESS_BYTES),
    body: bytes.subarray(0, -TAG_BYTES),
    tag: bytes.subarray(-TAG_BYTES),
  };
}

/** Reads tree id and row from the first bytes of an id. */
export function readAddress(bytes: Uint8Array): TokenAddress {
  let row = 0;
  for (const byte of bytes.subarray(TREE_BYTES, ADDRESS_BYTES)) row = row * 256 + byte;
  return { treeId: toHex(bytes.subarray(0, TREE_BYTES)), row };
}

/** Encodes tree id and row as the first bytes of an id. */
export function addressBytes(treeId: string, row: number): Uint8Array<ArrayBuffer> {
  const tree = fromHex(treeId);
  if (!tree || tree.length !== TREE_BYTES) throw new Error("a tree id has 32 bytes");
  const bytes = concat(tree, new Uint8Array(ROW_BYTES));
  let rest = row;
  for (let i = ADDRESS_BYTES - 1; i >= TREE_BYTES; i--) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}
