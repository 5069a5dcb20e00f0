import { fromBase64Url, fromHex, toBase64Url, toHex } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { type AccessorCredential, newRoutedId, newRow, readAccessor, readRoutedId } from "../../token/ids.ts";
import { type IndexedLease, orderOfIndexed } from "../index/index-store.ts";
import type { NewLeaseIds } from "./record.ts";

/**
 * A lease id is the path that made the lease, a slash, and a tail that leads to the tree. The tail of a token's lease is `h`
 * and the token's accessor in hex: it names the token and gives no way to it. The tail of a secret's lease is an id of its
 * own, made like an accessor.
 */
const LEASE_LABEL = new TextEncoder().encode("lease\0");
const TOKEN_TAIL = /^h((?:[0-9a-f]{2})+)$/;
/** Characters of a lease id. */
const MAX_LEASE_ID = 1024;

/** A lease that somebody named: nothing says yet that it exists. */
export interface NamedLease {
  readonly kind: "token" | "secret";
  readonly path: string;
  readonly credential: AccessorCredential;
}

/** Draws the ids of a new lease in the tree `treeId`. `now` in ms. */
export async function newLeaseIds(keys: Keys, treeId: string, now: number): Promise<NewLeaseIds> {
  const row = newRow(now);
  const { text, tail } = await newRoutedId(keys, LEASE_LABEL, { treeId, row });
  return { row, text, tail };
}

/** The tail of the lease of the token with this accessor. */
export function tokenLeaseTail(accessor: string): string {
  const bytes = fromBase64Url(accessor);
  if (!bytes) throw new Error("an accessor is base64url");
  return `h${toHex(bytes)}`;
}

/** The id of a lease that the index holds. */
export function leaseIdOfIndexed({ kind, path, id }: IndexedLease): string {
  return `${path}/${kind === "token" ? tokenLeaseTail(id) : id}`;
}

/** The place of a name among those of its level, which that of a token's lease has by its accessor. */
export function orderOfName(name: string): string {
  const bytes = fromHex(TOKEN_TAIL.exec(name)?.[1] ?? "");
  return bytes && bytes.length > 0 ? orderOfIndexed({ kind: "token", id: toBase64Url(bytes) }) : name;
}

/** Reads a lease id. Null for anything that this installation did not make. */
export async function readLeaseId(keys: Keys, text: string): Promise<NamedLease | null> {
  const slash = text.lastIndexOf("/");
  if (slash <= 0 || text.length > MAX_LEASE_ID) return null;
  const path = text.slice(0, slash);
  const tail = text.slice(slash + 1);
  const hex = TOKEN_TAIL.exec(tail)?.[1];
  const accessor = hex && fromHex(hex);
  const ofToken = accessor && (await readAccessor(keys, toBase64Url(accessor)));
  if (ofToken) return { kind: "token", path, credential: ofToken };
  const ofSecret = await readRoutedId(keys, LEASE_LABEL, tail);
  return ofSecret && { kind: "secret", path, credential: ofSecret };
}
