import type { Ms, Seconds } from "../../base/clock.ts";
import type { JudgedToken } from "../../system/watermarks.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { TokenRecord, TokenSpec } from "../../token/record.ts";

export type ListedMetadata = Readonly<Record<string, string>>;

/** Maximum characters of the stored metadata of one token, names included: a page has up to a thousand tokens. */
const MAX_METADATA = 4096;
/** Maximum number of stored pairs of one token. Each may need a row of postings and a row of a counter. */
const MAX_PAIRS = 64;

/** Entry of the inventory for a live service token. Contains nothing secret. */
export interface InventoryEntry {
  readonly accessor: string;
  /** Accessor of the parent; null for an orphan. */
  readonly parent: string | null;
  /** True for the oldest token of its tree, by which trees are counted. */
  readonly first: boolean;
  /** The id under which an auth mount issued it (`mountIssuerOf`), or `TOKEN_MOUNT`. */
  readonly mount: string;
  readonly path: string;
  /** The token role, or the role of the auth method; "" without one. */
  readonly role: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  /** "" without an entity. */
  readonly entityId: string;
  /** null: never. */
  readonly expiresAt: Ms | null;
  readonly renewedAt: Ms | null;
  /** As created; 0: no limit. */
  readonly numUses: number;
  /** 0: no limit. */
  readonly usesLeft: number;
  readonly period: Seconds;
  readonly explicitMaxTtl: Seconds;
  readonly children: number;
  /** False only for the first root token. */
  readonly leased: boolean;
  /** Number of the newest watermark that the creating isolate knew; absent when there was none. */
  readonly watermark?: number;
  /** Metadata set at creation, by the client or by the login. Bounded; absent when there is none. */
  readonly metadata?: ListedMetadata;
  /** Start of the hour of the last use; null: no use is known. */
  readonly lastUsed: Ms | null;
}

/** Returns the entry of a new token. `parent` is the accessor of its parent; null for the first token of a tree. */
export function newEntry(
  { record, expiresAt }: Pick<TokenSpec, "record" | "expiresAt">,
  accessor: string,
  parent: string | null,
): InventoryEntry {
  return {
    ...fixedPart(record),
    accessor,
    parent,
    first: parent === null,
    expiresAt,
    renewedAt: null,
    usesLeft: record.numUses,
    children: 0,
    lastUsed: null,
  };
}

/** Returns the fields of an entry that never change. */
export function fixedPart(record: TokenRecord) {
  const { role, login, meta } = record;
  return {
    mount: login?.mount ?? TOKEN_MOUNT,
    path: record.path,
    // A token role, or the role of an auth method.
    role: role ?? login?.internal.role ?? (login && meta?.role) ?? "",
    displayName: record.displayName,
    policies: record.policies,
    entityId: record.entityId,
    numUses: record.numUses,
    period: record.period,
    explicitMaxTtl: record.explicitMaxTtl,
    leased: record.leased,
    ...(record.watermark !== undefined && { watermark: record.watermark }),
    ...keptMetadata(meta ?? {}),
  };
}

/** Returns the pairs of the metadata that fit the bounds of the inventory, in their order. */
function keptMetadata(meta: ListedMetadata): Pick<InventoryEntry, "metadata"> {
  let room = MAX_METADATA;
  const pairs = Object.entries(meta).slice(0, MAX_PAIRS);
  const kept = pairs.filter(([name, value]) => {
    room -= name.length + value.length;
    return room >= 0;
  });
  return kept.length === 0 ? {} : { metadata: Object.fromEntries(kept) };
}

/** The fields of `fixedPart` in the order of `fixedText`, which shards and trees of two releases have to share. */
const FIXED = [
  ...(["mount", "path", "role", "displayName", "policies", "entityId"] as const),
  ...(["numUses", "period", "explicitMaxTtl", "leased", "watermark", "metadata"] as const),
];

/** Returns the fields of `fixedPart` as text for comparison: two texts are equal when all of these fields are. */
export function fixedText(entry: ReturnType<typeof fixedPart>): string {
  return JSON.stringify(FIXED.map((name) => entry[name] ?? (name === "metadata" ? {} : null)));
}

/** A listed token, as it is sent to its tree for comparison. */
export interface ListedClaim {
  readonly accessor: string;
  /** The fields that never change, as text, and the expiry. "wrong": an entry that no tree can have published. */
  readonly entry: { readonly fixed: string; readonly expiresAt: Ms | null } | "wrong";
  /** True when the shard has a record that the token ended some time ago. A shard of 1.0.0-rc.1 does not say it. */
  readonly hasEnded?: boolean;
}

/**
 * Minimum age of the row number of a token that tidy checks. A creation writes the token and its entries in other
 * objects at the same time, in any order; a creation in flight must not look like damage. The record of an end has to
 * be as old before a live token contradicts it: an update may arrive after the end, and clocks differ.
 */
export const SAFETY_AGE_MS: Ms = 600_000;

/** Entry of a token about which nothing is known. */
export const UNKNOWN_ENTRY: Omit<InventoryEntry, "accessor"> = {
  ...{ parent: null, first: false, leased: true, mount: "", path: "", role: "", displayName: "", policies: [] },
  ...{ entityId: "", expiresAt: null, renewedAt: null, numUses: 0, usesLeft: 0, period: 0, explicitMaxTtl: 0 },
  ...{ children: 0, lastUsed: null },
};

/** An entry with its position in the order of creation. */
export interface ListedToken extends InventoryEntry {
  /** Unique in its shard; grows with the time of creation. */
  readonly id: number;
}

/** Number of tokens of a tree. The size of an empty tree is not published. */
export interface TreeSize {
  /** Accessor of its oldest token. */
  readonly root: string;
  readonly count: number;
}

/** The mount of tokens that no auth method issued. Ids of mounts are UUIDs. */
export const TOKEN_MOUNT = "token";

export function createdAtOf({ id }: Pick<ListedToken, "id">): Ms {
  return rowGeneratedAt(id);
}

/** Returns the fields of a listed token that watermarks are compared with. */
export function judged(token: ListedToken): JudgedToken {
  const { path, leased, entityId, watermark } = token;
  return { path, leased, entityId, createdAt: createdAtOf(token), ...(watermark !== undefined && { watermark }) };
}

/** Returns the path under which a token is listed: "" for a token without a lease. */
export function listedPath({ leased, path }: InventoryEntry): string {
  return leased ? path : "";
}

/** Returns the key of the hour of a time, as counters use it. */
export function hourKey(ms: Ms): string {
  return `${new Date(ms).toISOString().slice(0, 13)}:00:00Z`;
}
