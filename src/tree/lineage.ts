import { currentTime, type Ms } from "../base/clock.ts";
import type { LeaseView } from "../lease/actions.ts";
import type { Ending } from "../listing/inventory/ended-tokens.ts";
import type { ListedToken } from "../listing/inventory/entry.ts";
import { storedJson } from "../storage/tables.ts";
import { isTarget, type StoredTarget } from "../token/actions.ts";
import { type EndRecord, earliestEnd, expiry, watermarkEnd } from "../token/end-record.ts";
import { decodeStoredId, type RowAndTail } from "../token/ids.ts";
import { childrenOf, countDescendants, descendantsOf } from "./descendants.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeParts } from "./tree-parts.ts";

/** Maximum number of ancestors in an answer: the nearest ones. */
const MAX_ANCESTORS = 100;
/** Counts of descendants, of leases and of values stop here. */
const MAX_COUNTED = 10_000;
/** Maximum number of tokens in a picture of a tree. */
const MAX_PICTURED = 500;
/** Descendants of a child, and of a grandchild, are counted up to these numbers. */
const COUNTED_OF_CHILD = 1000;
const COUNTED_OF_GRANDCHILD = 100;
/** Maximum number of descendants that are counted for all children of a page together. */
const COUNTED_OF_PAGE = 100_000;
const MAX_LEASES = 100;

/** `more`: there are more than `count`. */
interface BoundedCount {
  readonly count: number;
  readonly more: boolean;
}

interface CountedToken {
  readonly token: ListedToken;
  readonly descendants: BoundedCount;
}

/** A token of a tree, with its ancestors and with what a revocation would end with it. */
export interface Lineage {
  readonly token: ListedToken;
  /** The oldest first. */
  readonly ancestors: readonly ListedToken[];
  /** True when there are older ones. */
  readonly ancestorsMore: boolean;
  readonly children: readonly CountedToken[];
  /** Row of the last child of the page; null when it was the last of all. */
  readonly next: number | null;
  readonly descendants: BoundedCount;
  /** Leases of secrets, of the token and its descendants. */
  readonly leases: BoundedCount;
  /** Those of `leases` whose targets did not accept their revocation. A tree of the last release does not say it. */
  readonly failingLeases?: number;
  /** The oldest leases that the token itself holds. */
  readonly heldLeases: readonly LeaseView[];
  /** Cubbyhole values of the token and its descendants. */
  readonly cubbyhole: { readonly values: number; readonly bytes: number; readonly more: boolean };
}

/** A token with two levels below it. */
export interface TreePicture {
  readonly token: ListedToken;
  readonly children: readonly (CountedToken & { readonly children: readonly CountedToken[] })[];
  /** True when a level has tokens that are not in the picture. */
  readonly more: boolean;
}

/**
 * The lineage of a token, with at most `limit` children after the row `after`; null when it is not alive. Every answer
 * is bounded, however large the tree is.
 */
export function lineageOf(tree: TreeParts, named: RowAndTail, limit: number, after: number): Lineage | null {
  const { row } = named;
  const now = currentTime();
  const token = tree.tokens.liveNamed(named, now);
  const [listed] = token ? listedOf(tree, [row]) : [];
  if (!token || !listed) return null;
  const ancestors = ancestorsOf(tree, token, now);
  const rowsOfAncestors = ancestors.tokens.map((above) => above.row);
  const children = childrenOf(tree.sql, row, now, after, limit + 1);
  const below = descendantsOf(tree.sql, row, now, MAX_COUNTED + 1);
  const counted = [row, ...below.slice(0, MAX_COUNTED)];
  const page = children.slice(0, limit);
  const most = Math.min(MAX_COUNTED, Math.floor(COUNTED_OF_PAGE / Math.max(1, page.length)));
  return {
    token: listed,
    ancestors: listedOf(tree, rowsOfAncestors),
    ancestorsMore: ancestors.more,
    children: listedOf(tree, page).map((child) => withCount(tree, child, now, most)),
    next: children.length > limit ? (page.at(-1) ?? null) : null,
    descendants: boundedCount(below.length, MAX_COUNTED),
    leases: tree.leases.store.countOfTokens(counted, MAX_COUNTED),
    failingLeases: tree.leases.store.unrevokedOf(counted, MAX_COUNTED).failing,
    heldLeases: tree.leases.store.ofToken(row, MAX_LEASES),
    cubbyhole: tree.cubbyhole.sizeOf(counted, MAX_COUNTED),
  };
}

/** Two levels below a token; null when it is not alive. */
export function pictureOf(tree: TreeParts, named: RowAndTail): TreePicture | null {
  const now = currentTime();
  const [listed] = tree.tokens.liveNamed(named, now) ? listedOf(tree, [named.row]) : [];
  if (!listed) return null;
  const children = childrenOf(tree.sql, named.row, now, 0, MAX_PICTURED);
  const shown = children.slice(0, Math.floor(MAX_PICTURED / 5));
  let left = MAX_PICTURED - shown.length;
  let more = children.length > shown.length;
  const pictured = listedOf(tree, shown).map((token) => {
    const below = childrenOf(tree.sql, token.id, now, 0, left + 1);
    more ||= below.length > left;
    const nodes = listedOf(tree, below.slice(0, left));
    left -= nodes.length;
    const grandchildren = nodes.map((node) => withCount(tree, node, now, COUNTED_OF_GRANDCHILD));
    return { ...withCount(tree, token, now, COUNTED_OF_CHILD), children: grandchildren };
  });
  return { token: listed, children: pictured, more };
}

/** Accessors of the token in `row` and of its nearest ancestors. */
export function accessorsFrom(tree: TreeParts, row: number): string[] {
  const token = tree.tokens.find(row);
  if (!token) return [];
  const { tokens } = ancestorsOf(tree, token, currentTime());
  return [...tokens, token].map(({ fixed }) => fixed.accessor);
}

/** How a token ended, if it waits for the sweep; null while it is alive. */
export function unsweptEnd(tree: TreeParts, target: StoredTarget): Ending | null {
  const now = currentTime();
  const token = tree.tokens.find(target.row);
  if (!token || !isTarget(token.fixed, target)) return null;
  const ends: (EndRecord | null)[] = [];
  for (const one of upwards(tree, token, now)) {
    ends.push(one.ended === null ? null : storedJson<EndRecord>(one.ended));
    ends.push(expiry(one.expiresAt, one.fixed.accessor, now));
    ends.push(watermarkEnd(tree.keys.watermarks(), one.fixed, now));
  }
  const end = earliestEnd(ends);
  return end && tree.inventory.ending(token, end);
}

/** True when `isOne` is true for an ancestor of `row`. `known` caches results by row, for the same `isOne`. */
export function hasAbove(tree: TreeParts, row: number, isOne: (row: number) => boolean, known: Map<number, boolean>) {
  const passed: number[] = [];
  let found = false;
  const now = currentTime();
  for (let token = tree.tokens.find(row); token; ) {
    const above: TokenRow | null = parentOf(tree, token, now);
    found = known.get(token.row) ?? (above !== null && isOne(above.row));
    if (found || known.has(token.row)) break;
    // Also ends the walk in a forged cycle.
    known.set(token.row, false);
    passed.push(token.row);
    token = above;
  }
  if (found) for (const one of [row, ...passed]) known.set(one, true);
  return found;
}

/** The rows of a token and of all its ancestors: if one of them is revoked, the token ends. */
export function rowsAbove(tree: TreeParts, row: number): number[] {
  const token = tree.tokens.find(row);
  return token ? Array.from(upwards(tree, token, currentTime()), (one) => one.row) : [];
}

/** Accessors of these tokens and of all their ancestors. */
export function accessorsAbove(tree: TreeParts, tokens: readonly RowAndTail[]): string[] {
  const rows = new Set(tokens.flatMap(({ row }) => rowsAbove(tree, row)));
  return [...rows].flatMap((row) => tree.tokens.accessorOf(row) ?? []);
}

/** The nearest ancestors, the oldest first. */
function ancestorsOf(tree: TreeParts, token: TokenRow, now: Ms): { tokens: TokenRow[]; more: boolean } {
  const above: TokenRow[] = [];
  for (const one of upwards(tree, token, now)) {
    if (one === token) continue;
    if (above.length === MAX_ANCESTORS) return { tokens: above.reverse(), more: true };
    above.push(one);
  }
  return { tokens: above.reverse(), more: false };
}

function withCount({ sql }: TreeParts, token: ListedToken, now: Ms, most: number): CountedToken {
  return { token, descendants: boundedCount(countDescendants(sql, token.id, now, most + 1), most) };
}

function listedOf({ inventory }: TreeParts, rows: readonly number[]): ListedToken[] {
  return inventory.describe(rows).map((entry) => ({ ...entry, id: decodeStoredId(entry.accessor)?.row ?? 0 }));
}

/** A token and its ancestors. The parent column is not sealed: `seen` also ends the walk in a forged cycle. */
function* upwards(tree: TreeParts, token: TokenRow, now: Ms): Iterable<TokenRow> {
  const seen = new Set<number>();
  for (let one: TokenRow | null = token; one && !seen.has(one.row); one = parentOf(tree, one, now)) {
    seen.add(one.row);
    yield one;
  }
}

function parentOf({ tokens }: TreeParts, token: TokenRow, now: Ms): TokenRow | null {
  const parent = tokens.liveness.parentOf(token, now);
  return parent === null ? null : tokens.find(parent);
}

function boundedCount(found: number, limit: number): BoundedCount {
  return { count: Math.min(found, limit), more: found > limit };
}
