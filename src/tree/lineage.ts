import { currentTime } from "../base/clock.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { LeaseView } from "../lease/record.ts";
import type { Ending } from "../listing/inventory/ended.ts";
import type { ListedToken } from "../listing/inventory/entry.ts";
import { storedJson } from "../storage/tables.ts";
import { type EndRecord, earliestEnd, expiry, watermarkEnd } from "../token/end-record.ts";
import { decodeStoredId } from "../token/ids.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { TokenRow } from "./token-rows.ts";

/** Maximum number of ancestors in an answer: the nearest ones. */
const MAX_ANCESTORS = 100;
/** Counts of descendants, of leases and of values stop here. */
export const MAX_COUNTED = 10_000;
/** Maximum number of tokens in a picture of a tree. */
const MAX_PICTURED = 500;
/** Counts of the descendants of a child in a picture stop here, and those of a grandchild. */
const COUNTED_OF_CHILD = 1000;
const COUNTED_OF_GRANDCHILD = 100;
/** Maximum number of descendants that are counted for all children of a page together. */
const COUNTED_OF_PAGE = 100_000;
/** Maximum number of leases in an answer. */
const MAX_LEASES = 100;

/** A count that stops at a limit. `more`: there are more than `count`. */
export interface BoundedCount {
  readonly count: number;
  readonly more: boolean;
}

/** A token with the number of its descendants. */
export interface CountedToken {
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
  /** The oldest of those that the token itself holds. */
  readonly heldLeases: readonly LeaseView[];
  /** Cubbyhole values of the token and its descendants. */
  readonly cubbyhole: { readonly values: number; readonly bytes: number; readonly more: boolean };
}

/** A token with two levels below it. */
export interface TreePicture {
  readonly token: ListedToken;
  readonly children: readonly PicturedChild[];
  /** True when a level has tokens that are not in the picture. */
  readonly more: boolean;
}

/** A child in a picture, with its own children. */
export interface PicturedChild extends CountedToken {
  readonly children: readonly CountedToken[];
}

/** Reads the ancestors and descendants of a token of the tree. Every answer is bounded, however large the tree is. */
export class TreeLineage {
  readonly #tree: SharedParts;

  constructor(tree: SharedParts) {
    this.#tree = tree;
  }

  /**
   * The lineage of the token in `row`; null when it is not alive.
   *
   * @param tail of its accessor.
   * @param limit maximum number of children in the page.
   * @param after the page begins after this row number.
   */
  of(row: number, tail: Uint8Array, limit: number, after: number): Lineage | null {
    const now = currentTime();
    const token = this.#tree.tokens.liveNamed({ row, tail }, now);
    const [listed] = token ? this.#listed([row]) : [];
    if (!token || !listed) return null;
    const ancestors = this.#ancestors(token, now);
    const { descendants } = this.#tree;
    const children = descendants.children(row, now, after, limit + 1);
    const below = descendants.below(row, now, MAX_COUNTED + 1);
    const counted = [row, ...below.slice(0, MAX_COUNTED)];
    const leases = this.#tree.leases.store.countOfTokens(counted, MAX_COUNTED + 1);
    const page = children.slice(0, limit);
    const most = Math.min(MAX_COUNTED, Math.floor(COUNTED_OF_PAGE / Math.max(1, page.length)));
    return {
      token: listed,
      ancestors: this.#listed(ancestors.tokens.map((above) => above.row)),
      ancestorsMore: ancestors.more,
      children: this.#listed(page).map((child) => this.#counted(child, now, most)),
      next: children.length > limit ? (page.at(-1) ?? null) : null,
      descendants: boundedCount(below.length, MAX_COUNTED),
      leases: boundedCount(leases, MAX_COUNTED),
      heldLeases: this.#tree.leases.heldBy(row, MAX_LEASES),
      cubbyhole: this.#tree.cubbyhole.sizeOf(counted, MAX_COUNTED),
    };
  }

  /** Two levels below the token in `row`; null when it is not alive. */
  picture(row: number, tail: Uint8Array): TreePicture | null {
    const now = currentTime();
    const [listed] = this.#tree.tokens.liveNamed({ row, tail }, now) ? this.#listed([row]) : [];
    if (!listed) return null;
    const children = this.#tree.descendants.children(row, now, 0, MAX_PICTURED);
    const shown = children.slice(0, Math.floor(MAX_PICTURED / 5));
    let left = MAX_PICTURED - shown.length;
    let more = children.length > shown.length;
    const pictured = this.#listed(shown).map((token): PicturedChild => {
      const below = this.#tree.descendants.children(token.id, now, 0, left + 1);
      more ||= below.length > left;
      const nodes = this.#listed(below.slice(0, left));
      left -= nodes.length;
      const grandchildren = nodes.map((node) => this.#counted(node, now, COUNTED_OF_GRANDCHILD));
      return { ...this.#counted(token, now, COUNTED_OF_CHILD), children: grandchildren };
    });
    return { token: listed, children: pictured, more };
  }

  /** Accessors of the token in `row` and of its nearest ancestors. */
  accessorsFrom(row: number): string[] {
    const token = this.#tree.tokens.find(row);
    if (!token) return [];
    const { tokens } = this.#ancestors(token, currentTime());
    return [...tokens, token].map(({ fixed }) => fixed.accessor);
  }

  /** How the token in `row` ended, if it waits for the sweep; null while it is alive. */
  unsweptEnd(row: number, tail: Uint8Array): Ending | null {
    const { tokens, keys, inventory } = this.#tree;
    const now = currentTime();
    const token = tokens.find(row);
    if (!token || !equalBytes(token.fixed.accessorTail, tail)) return null;
    const ends: (EndRecord | null)[] = [];
    for (const one of this.#upwards(token, now)) {
      ends.push(one.ended === null ? null : storedJson<EndRecord>(one.ended));
      ends.push(expiry(one.expiresAt, one.fixed.accessor, now));
      ends.push(watermarkEnd(keys.watermarks(), one.fixed, now));
    }
    const end = earliestEnd(ends);
    return end && inventory.ending(token, end);
  }

  /** True when `isOne` is true for an ancestor of `row`. `known` caches results by row, for the same `isOne`. */
  hasAbove(row: number, isOne: (row: number) => boolean, known: Map<number, boolean>): boolean {
    const passed: number[] = [];
    let found = false;
    const now = currentTime();
    for (let token = this.#tree.tokens.find(row); token; ) {
      const above: TokenRow | null = this.#parentOf(token, now);
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
  rowsAbove(row: number): number[] {
    const token = this.#tree.tokens.find(row);
    return token ? Array.from(this.#upwards(token, currentTime()), (one) => one.row) : [];
  }

  /** The nearest ancestors, the oldest first. */
  #ancestors(token: TokenRow, now: number): { tokens: TokenRow[]; more: boolean } {
    const above: TokenRow[] = [];
    for (const one of this.#upwards(token, now)) {
      if (one === token) continue;
      if (above.length === MAX_ANCESTORS) return { tokens: above.reverse(), more: true };
      above.push(one);
    }
    return { tokens: above.reverse(), more: false };
  }

  #counted(token: ListedToken, now: number, most: number): CountedToken {
    return { token, descendants: boundedCount(this.#tree.descendants.count(token.id, now, most + 1), most) };
  }

  #listed(rows: readonly number[]): ListedToken[] {
    return this.#tree.inventory
      .describe(rows)
      .map((entry) => ({ ...entry, id: decodeStoredId(entry.accessor)?.row ?? 0 }));
  }

  /** A token and its ancestors. The parent column is not sealed: `seen` also ends the walk in a forged cycle. */
  *#upwards(token: TokenRow, now: number): Iterable<TokenRow> {
    const seen = new Set<number>();
    for (let one: TokenRow | null = token; one && !seen.has(one.row); one = this.#parentOf(one, now)) {
      seen.add(one.row);
      yield one;
    }
  }

  #parentOf(token: TokenRow, now: number): TokenRow | null {
    const parent = this.#tree.tokens.parentOf(token, now);
    return parent === null ? null : this.#tree.tokens.find(parent);
  }
}

function boundedCount(found: number, limit: number): BoundedCount {
  return { count: Math.min(found, limit), more: found > limit };
}
