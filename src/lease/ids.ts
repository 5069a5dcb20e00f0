import type { Ms } from "../base/clock.ts";
import { concat, equalBytes, fromHex, toBase64Url, toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { type IndexedLease, orderOfIndexed } from "../listing/lease-index.ts";
import {
  ADDRESS_BYTES,
  addressBytes,
  decodeStoredId,
  newRoutedId,
  newRow,
  readAddress,
  readRoutedId,
  type TokenAddress,
} from "../token/ids.ts";
import type { LeaseReference, NewLeaseIds } from "./actions.ts";

/**
 * A lease id is the path that made the lease, a slash, and a tail that contains its address: tree and row.
 *
 * The tail of a token's lease is `h`, then the token's address and a keyed hash of the address, both in hex. The right
 * to use an accessor is not the right to use a lease id, so neither can be computed from the other. The tail of a
 * secret's lease is generated like an accessor.
 */
const LEASE_LABEL = new TextEncoder().encode("lease\0");
const TOKEN_LEASE_LABEL = new TextEncoder().encode("lease of a token\0");
const TOKEN_MARK = "h";
const HASH_BYTES = 16;
const TOKEN_TAIL = new RegExp(`^${TOKEN_MARK}([0-9a-f]{${(ADDRESS_BYTES + HASH_BYTES) * 2}})$`);
/** Sorts after every character of an accessor. */
const AFTER_ACCESSORS = "~";
/** Maximum length of a lease id, in characters. */
const MAX_LEASE_ID = 1024;

/** The parts of a lease id that a caller sent. This installation made the id, but the lease need not exist. */
export type NamedLease =
  | { readonly kind: "token"; readonly path: string; readonly treeId: string; readonly row: number }
  | { readonly kind: "secret"; readonly treeId: string; readonly lease: LeaseReference };

/** Generates the ids of a new lease in the tree `treeId`. */
export async function newLeaseIds(keys: Keys, treeId: string, now: Ms): Promise<NewLeaseIds> {
  const row = newRow(now);
  const { text, tail } = await newRoutedId(keys, LEASE_LABEL, { treeId, row });
  return { row, text, tail };
}

/** Returns the tail of the lease id of the token with this accessor, which comes from our own storage. */
export async function tokenLeaseTail(keys: Keys, accessor: string): Promise<string> {
  const address = decodeStoredId(accessor);
  if (!address) throw new Error("an accessor leads to a tree");
  const place = addressBytes(address.treeId, address.row);
  return TOKEN_MARK + toHex(concat(place, await hashOfPlace(keys, place)));
}

/** Returns the lease id of an entry of the index. */
export async function leaseIdOfIndexed(keys: Keys, { kind, path, id }: IndexedLease): Promise<string> {
  return `${path}/${kind === "token" ? await tokenLeaseTail(keys, id) : id}`;
}

/** Sort key of a name within its level. A token's lease sorts like its accessor: both begin with the same address. */
export function orderOfName(name: string): string {
  const bytes = fromHex(TOKEN_TAIL.exec(name)?.[1] ?? "");
  if (!bytes || bytes.length === 0) return name;
  const begin = toBase64Url(bytes.subarray(0, ADDRESS_BYTES));
  return orderOfIndexed({ kind: "token", id: begin + AFTER_ACCESSORS });
}

/** Reads a lease id. Null for anything that this installation did not make. */
export async function readLeaseId(keys: Keys, text: string): Promise<NamedLease | null> {
  const slash = text.lastIndexOf("/");
  if (slash <= 0 || text.length > MAX_LEASE_ID) return null;
  const path = text.slice(0, slash);
  const tail = text.slice(slash + 1);
  const hex = TOKEN_TAIL.exec(tail)?.[1];
  if (hex !== undefined) {
    const address = await readTokenTail(keys, hex);
    return address && { kind: "token", path, ...address };
  }
  const ofSecret = await readRoutedId(keys, LEASE_LABEL, tail);
  return (
    ofSecret && { kind: "secret", treeId: ofSecret.treeId, lease: { row: ofSecret.row, tail: ofSecret.tail, path } }
  );
}

async function readTokenTail(keys: Keys, hex: string): Promise<TokenAddress | null> {
  const bytes = fromHex(hex);
  if (!bytes) return null;
  const place = bytes.subarray(0, ADDRESS_BYTES);
  return equalBytes(await hashOfPlace(keys, place), bytes.subarray(ADDRESS_BYTES)) ? readAddress(place) : null;
}

async function hashOfPlace(keys: Keys, place: Uint8Array): Promise<Uint8Array> {
  return (await keyedHash(keys.identity, TOKEN_LEASE_LABEL, place)).subarray(0, HASH_BYTES);
}
