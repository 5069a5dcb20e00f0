import type { Env } from "../env.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { shardCount } from "../listing/accessor-shard-number.ts";
import type { ListedClaim } from "../listing/inventory/entry.ts";
import { decodeStoredId, rowGeneratedAt } from "../token/ids.ts";
import { CUSTOM_ID_SHARDS, customIdsShard } from "../tree/custom-ids.ts";
import type { TidyReport } from "../tree/tidy/report.ts";
import { type CustomIdClaim, SAFETY_AGE_MS, type TidyStepResult } from "../tree/tidy/step.ts";

/** Entries of a page. It is also the maximum number of trees that one step calls. */
export const LIST_PAGE = 100;

/** Where a run reads the lists next. */
export interface ListPosition {
  readonly list: "accessors" | "custom_ids";
  readonly shard: number;
  /** The last entry that was read. */
  readonly after: string;
}

/** The entries of a page that name one tree. */
export interface Claims {
  readonly accessors: readonly ListedClaim[];
  readonly customIds: readonly CustomIdClaim[];
}

/** A page of a list. */
export interface ListPage {
  readonly examined: Partial<TidyReport>;
  /** By tree id. Entries that are too new to be checked are left out. */
  readonly claims: ReadonlyMap<string, Claims>;
  /** Entries that are not valid accessors, so that no tree can be called. */
  readonly broken: readonly string[];
  readonly next: ListPosition | null;
}

/** Answer of one tree about the entries that name it. */
export interface Compared extends Omit<TidyStepResult, "repairs" | "terms" | "next"> {
  readonly treeId: string;
}

/** Start of a run over everything, and of one that leaves out the accessors. */
export const FIRST_POSITION: ListPosition = { list: "accessors", shard: 0, after: "" };
export const FIRST_WITHOUT_ACCESSORS: ListPosition = { list: "custom_ids", shard: 0, after: "" };

/** Reads the page at `position`. `now` in ms. */
export function readPage(env: Env, position: ListPosition, now: number): Promise<ListPage> {
  return position.list === "accessors" ? accessorPage(env, position, now) : customIdPage(env, position, now);
}

/** Corrects entries of the inventory that differ from their trees. Safe to repeat. */
export async function mendInventory(
  env: Env,
  position: ListPosition,
  page: ListPage,
  compared: readonly Compared[],
): Promise<Partial<TidyReport>> {
  if (position.list !== "accessors") return {};
  const listedWrong = [...page.claims.values()].flatMap(({ accessors }) =>
    accessors.filter(({ entry }) => entry === "wrong").map(({ accessor }) => accessor),
  );
  const stale = compared.flatMap(({ staleEntries }) => staleEntries);
  const wrong = [...new Set([...listedWrong, ...compared.flatMap(({ wrongEntries }) => wrongEntries)])];
  if (stale.length + wrong.length > 0) await accessorShard(env, position.shard).describeAnew(stale, wrong);
  return { tampered: wrong.length };
}

/** Removes entries without a token from the list at `position`. Safe to repeat. */
export async function removeGone(
  env: Env,
  position: ListPosition,
  page: ListPage,
  gone: readonly Compared[],
): Promise<Partial<TidyReport>> {
  if (position.list === "accessors") {
    const accessors = [...page.broken, ...gone.flatMap(({ goneAccessors }) => goneAccessors)];
    if (accessors.length > 0) await accessorShard(env, position.shard).remove(accessors);
    return { accessorsRemoved: accessors.length };
  }
  const entries = gone.flatMap(({ treeId, goneCustomIds }) =>
    goneCustomIds.map(({ key, row }) => ({ key, treeId, row })),
  );
  // An entry is released only if it still names the token that was checked: a new token may have taken the id since.
  await customIdsShard(env, position.shard).release(entries);
  return { customIdsRemoved: entries.length };
}

async function accessorPage(env: Env, position: ListPosition, now: number): Promise<ListPage> {
  const listed = await accessorShard(env, position.shard).claims(position.after, LIST_PAGE);
  const accessors = listed.map(({ accessor }) => accessor);
  const broken: string[] = [];
  const claims = new Map<string, MutableClaims>();
  for (const claim of listed) {
    const route = decodeStoredId(claim.accessor);
    if (!route) broken.push(claim.accessor);
    else if (isOld(route.row, now)) claimsOf(claims, route.treeId).accessors.push(claim);
  }
  const examined = { accessorsExamined: accessors.length };
  return { examined, claims, broken, next: after(position, accessors, shardCount()) };
}

async function customIdPage(env: Env, position: ListPosition, now: number): Promise<ListPage> {
  const entries = await customIdsShard(env, position.shard).page(position.after, LIST_PAGE);
  const claims = new Map<string, MutableClaims>();
  for (const { key, treeId, row } of entries) {
    if (isOld(row, now)) claimsOf(claims, treeId).customIds.push({ key, row });
  }
  const keys = entries.map(({ key }) => key);
  const examined = { customIdsExamined: entries.length };
  return { examined, claims, broken: [], next: after(position, keys, CUSTOM_ID_SHARDS) };
}

function isOld(row: number, now: number): boolean {
  return rowGeneratedAt(row) < now - SAFETY_AGE_MS;
}

type MutableClaims = { accessors: ListedClaim[]; customIds: CustomIdClaim[] };

function claimsOf(claims: Map<string, MutableClaims>, treeId: string): MutableClaims {
  const known = claims.get(treeId) ?? { accessors: [], customIds: [] };
  claims.set(treeId, known);
  return known;
}

function after(position: ListPosition, entries: readonly string[], shards: number): ListPosition | null {
  const last = entries.at(-1);
  if (last !== undefined && entries.length === LIST_PAGE) return { ...position, after: last };
  if (position.shard + 1 < shards) return { ...position, shard: position.shard + 1, after: "" };
  return position.list === "accessors" ? FIRST_WITHOUT_ACCESSORS : null;
}
