import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { InventoryEntry } from "../entry.ts";
import type { GroupCount } from "../group-sums.ts";
import { type GroupKind, groupKeysOf } from "../terms.ts";

/** Maximum number of expiring tokens in the time of one query, in one shard. Each of them is read. */
export const MAX_ENDING = 100_000;
const MAX_NAMED = 1000;

/** A time span divided into parts, in which expiring tokens are counted. Times in ms. */
export interface EndsQuery {
  readonly kind: GroupKind;
  /** null: of all mounts. */
  readonly mount: string | null;
  readonly from: number;
  /** Length of a part. */
  readonly step: number;
  readonly parts: number;
  /** Tokens that have expired by this time are not counted. */
  readonly now: number;
  /** The requested groups; null: those with the most tokens. */
  readonly keys: readonly string[] | null;
}

/** A group and the number of its tokens that expire in each part. */
export interface GroupEnds extends GroupCount {
  readonly parts: readonly number[];
}

export interface ShardEnds {
  /** Number of all tokens that expire in each part. */
  readonly all: readonly number[];
  readonly groups: readonly GroupEnds[];
  /** True when `groups` has every group that was requested or found. */
  readonly isWhole: boolean;
  /** Tokens in each part that are in none of the requested groups; without a request, in no group. */
  readonly other: readonly number[];
}

/** Counts the expiring tokens of a shard by part and group. null when they are more than `MAX_ENDING`: each is read. */
export function endsByGroup(sql: Sql, { kind, mount, from, step, parts, now, keys }: EndsQuery): ShardEnds | null {
  const asked = keys && new Set(keys);
  const all = zeros(parts);
  const groups = new Map<string, number[]>(keys?.map((key) => [key, zeros(parts)]));
  let read = 0;
  const query = "SELECT ends, entry FROM inventory WHERE ends >= ? AND ends < ? LIMIT ?";
  const values = [Math.max(from, now + 1), from + step * parts, MAX_ENDING + 1];
  const rows = sql.exec<{ ends: number; entry: string }>(query, ...values);
  const other = zeros(parts);
  for (const { ends, entry } of rows) {
    if (++read > MAX_ENDING) return null;
    const token = storedJson<InventoryEntry>(entry);
    if (mount !== null && token.mount !== mount) continue;
    const part = Math.floor((ends - from) / step);
    add(all, part);
    const own = groupKeysOf(token, kind).filter((key) => asked === null || asked.has(key));
    if (own.length === 0) add(other, part);
    for (const key of own) {
      const counts = groups.get(key) ?? zeros(parts);
      groups.set(key, counts);
      add(counts, part);
    }
  }
  const counted = [...groups].map(([key, counts]) => ({
    key,
    count: counts.reduce((sum, n) => sum + n, 0),
    parts: counts,
  }));
  const named = counted.sort((a, b) => b.count - a.count).slice(0, MAX_NAMED);
  return { all, groups: named, isWhole: keys !== null || named.length === counted.length, other };
}

function zeros(parts: number): number[] {
  return new Array<number>(parts).fill(0);
}

function add(counts: number[], at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}
