import { type Sql, storedJson } from "../../storage/tables.ts";
import { askShards } from "../accessor-shards.ts";
import type { ListingEnv } from "../env.ts";
import type { InventoryEntry } from "./entry.ts";
import { addUp, type GroupCount, type GroupKind, groupKeysOf, topOf } from "./terms.ts";

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
  const sumOf = (counts: number[]) => counts.reduce((sum, n) => sum + n, 0);
  const counted = [...groups].map(([key, counts]) => ({ key, count: sumOf(counts), parts: counts }));
  const named = counted.sort((a, b) => b.count - a.count).slice(0, MAX_NAMED);
  return { all, groups: named, isWhole: keys !== null || named.length === counted.length, other };
}

function zeros(parts: number): number[] {
  return new Array<number>(parts).fill(0);
}

function add(counts: number[], at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

/** Counts expiring tokens by time, exactly, for the `limit` largest groups. null: a shard has more than it reads. */
export async function endsOfGroups(
  env: ListingEnv,
  query: Omit<EndsQuery, "keys">,
  limit: number,
): Promise<Omit<ShardEnds, "isWhole"> | null> {
  const first = await askAll(env, { ...query, keys: null });
  if (!first) return null;
  const keys = greatest(first, limit).map(({ key }) => key);
  // When a shard does not name all of its groups, all shards are asked again for the groups that are shown. For
  // policies they are always asked again: a token can be in several groups, so the rest is not the difference of sums.
  const isEnough = query.kind !== "policy" && first.every(({ isWhole }) => isWhole);
  const exact = isEnough ? first : await askAll(env, { ...query, keys });
  if (!exact) return null;
  const groups = greatest(exact, limit);
  const all = exact.map((one) => one.all).reduce(plus);
  const other = isEnough
    ? groups.reduce((left, { parts }) => left.map((count, at) => count - (parts[at] ?? 0)), all)
    : exact.map((one) => one.other).reduce(plus);
  return { all, groups, other };
}

async function askAll(env: ListingEnv, query: EndsQuery): Promise<ShardEnds[] | null> {
  const answers = await askShards(env, (shard) => shard.endsByGroup(query));
  const ends = answers.flatMap((answer) => answer ?? []);
  return ends.length < answers.length ? null : ends;
}

function greatest(shards: readonly ShardEnds[], limit: number): GroupEnds[] {
  const groups = shards.flatMap((shard) => shard.groups);
  const sums = addUp(groups, (a, b) => ({ key: a.key, count: a.count + b.count, parts: plus(a.parts, b.parts) }));
  return topOf(sums, limit);
}

function plus(a: readonly number[], b: readonly number[]): readonly number[] {
  return a.map((count, at) => count + (b[at] ?? 0));
}
