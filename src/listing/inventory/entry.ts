import type { JudgedToken } from "../../system/watermarks.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { TokenRecord, TokenSpec } from "../../token/record.ts";

/** Texts by name. */
export type Metadata = Readonly<Record<string, string>>;

/** Characters of the metadata of one token, names included, that the inventory keeps: a page has up to a thousand tokens. */
const MAX_METADATA = 4096;
/** Pairs likewise: each may be a row of a list of ids and of a counter. */
const MAX_PAIRS = 64;

/** What the inventory keeps of a live service token. Times in ms, durations in seconds. Holds nothing secret. */
export interface InventoryEntry {
  readonly accessor: string;
  /** Accessor of the parent; null for an orphan. */
  readonly parent: string | null;
  /** True for the oldest token of its tree, by which trees are counted. */
  readonly first: boolean;
  /** The id under which an auth mount issued it (`issuerOf`), or `TOKEN_MOUNT`. */
  readonly mount: string;
  readonly path: string;
  /** The token role, or the role of the auth method; "" without one. */
  readonly role: string;
  readonly displayName: string;
  readonly policies: readonly string[];
  /** "" without an entity. */
  readonly entityId: string;
  /** null: never. */
  readonly expiresAt: number | null;
  /** null: never renewed. */
  readonly renewedAt: number | null;
  /** As created; 0: no limit. */
  readonly numUses: number;
  /** 0: no limit. */
  readonly usesLeft: number;
  readonly period: number;
  readonly explicitMaxTtl: number;
  /** Direct children. */
  readonly children: number;
  /** False only for the first root token. */
  readonly leased: boolean;
  /** The newest watermark that its maker knew; absent when there was none. */
  readonly watermark?: number;
  /** What was said of it when it was made: by its maker, or by the login. Bounded; absent when there is none. */
  readonly metadata?: Metadata;
  /** To the hour; null: not known to have been used. */
  readonly lastUsed: number | null;
}

/** What the inventory keeps of a token that was just made. `parent` is its accessor; null for the first of a tree. */
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

/** The part of an entry that never changes. */
export function fixedPart(record: TokenRecord) {
  return {
    mount: record.login?.mount ?? TOKEN_MOUNT,
    path: record.path,
    role: roleNameOf(record),
    displayName: record.displayName,
    policies: record.policies,
    entityId: record.entityId,
    numUses: record.numUses,
    period: record.period,
    explicitMaxTtl: record.explicitMaxTtl,
    leased: record.leased,
    ...(record.watermark !== undefined && { watermark: record.watermark }),
    ...keptMetadata(record.meta ?? {}),
  };
}

/** The metadata as the inventory has it: the pairs that fit, in their order. */
function keptMetadata(meta: Metadata): Pick<InventoryEntry, "metadata"> {
  let room = MAX_METADATA;
  const pairs = Object.entries(meta).slice(0, MAX_PAIRS);
  const kept = pairs.filter(([name, value]) => {
    room -= name.length + value.length;
    return room >= 0;
  });
  return kept.length === 0 ? {} : { metadata: Object.fromEntries(kept) };
}

/** The same as text, to be compared: of two entries it is equal when all of that is. */
export function fixedText(entry: ReturnType<typeof fixedPart>): string {
  const { mount, path, role, displayName, policies, entityId, numUses, period, explicitMaxTtl, leased } = entry;
  const { watermark = null, metadata = {} } = entry;
  const fixed = [
    mount,
    path,
    role,
    displayName,
    policies,
    entityId,
    numUses,
    period,
    explicitMaxTtl,
    leased,
    watermark,
    metadata,
  ];
  return JSON.stringify(fixed);
}

/** A listed token as its tree is asked about it. */
export interface ListedClaim {
  readonly accessor: string;
  /**
   * What the list has of it: the part that never changes, as text, and its end (ms; null: never). "wrong": something that no tree
   * can have said.
   */
  readonly entry: { readonly fixed: string; readonly expiresAt: number | null } | "wrong";
}

/** An entry with its place in the order of creation. */
export interface ListedToken extends InventoryEntry {
  /** Unique in its shard; grows with the time of creation. */
  readonly id: number;
}

/** The mount of tokens that no auth method issued. Ids of mounts are UUIDs. */
export const TOKEN_MOUNT = "token";

/** The role that made a token, whatever kind of role it is; "" without one. */
function roleNameOf({ role, login, meta }: Pick<TokenRecord, "role" | "login" | "meta">): string {
  return role ?? login?.internal.role ?? (login && meta?.role) ?? "";
}

/** When a listed token was made (ms). */
export function createdAtOf({ id }: Pick<ListedToken, "id">): number {
  return rowGeneratedAt(id);
}

/** What watermarks judge a listed token by. */
export function judged(token: ListedToken): JudgedToken {
  const { path, leased, entityId, watermark } = token;
  return { path, leased, entityId, createdAt: createdAtOf(token), ...(watermark !== undefined && { watermark }) };
}

/** The path that a token is listed under. */
export function listedPath({ leased, path }: InventoryEntry): string {
  return leased ? path : "";
}

/** The key of the hour that a time (ms) is in, as counters have it. */
export function hourKey(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 13)}:00:00Z`;
}
