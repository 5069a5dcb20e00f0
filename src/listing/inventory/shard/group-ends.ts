import { type Sql, storedJson } from "../../../storage/tables.ts";
import type { InventoryEntry } from "../entry.ts";
import type { GroupCount } from "../group-sums.ts";
import { type GroupKind, groupKeysOf } from "../terms.ts";

/** Tokens that end in the time of one question, in one shard. Each is read. */
export const MAX_ENDING = 100_000;
/** Groups that one shard names. */
const MAX_NAMED = 1000;

/** A time that is divided into parts, of which each token that ends is counted. Times in ms. */
export interface EndsQuery {
  readonly kind: GroupKind;
  /** Only tokens of this mount; null: of all. */
  readonly mount: string | null;
  readonly from: number;
  /** Of a part. */
  readonly step: number;
  readonly parts: number;
  /** What has ended by now is not counted. */
  readonly now: number;
  /** The groups that are asked for; null: those with the most tokens. */
  readonly keys: readonly string[] | null;
}

/** A group and how many of its tokens end in each part. */
export interface GroupEnds extends GroupCount {
  readonly parts: readonly number[];
}

/** What ends in one shard. */
export interface ShardEnds {
  /** All tokens that end in each part. */
  readonly all: readonly number[];
  readonly groups: readonly GroupEnds[];
  /** True when every group is named. */
  readonly isWhole: boolean;
  /** Tokens that are in none of the groups that were asked for. */
  readonly other: readonly number[];
}

/** Counts by group which tokens of a shard end when, from the index of ends: reads each of those tokens. null when they are too many. */
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
