import { equalBytes } from "../crypto/bytes.ts";
import type { ListedToken } from "../listing/inventory/entry.ts";
import { isEverMeant, matches, type TokenFilter } from "../listing/inventory/filter.ts";
import { isRoot, type MeantInTree, type RevokedInTree, type RevokeInTree } from "../listing/inventory/selection.ts";
import { reportTampering } from "../storage/row-seals.ts";
import type { RowAndTail } from "../token/ids.ts";
import { REVOKED } from "../token/state.ts";
import type { TreeLineage } from "./lineage.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { TokenRow } from "./token-rows.ts";

/** The parts of the tree that `MeantTokens` uses. */
export interface MeantDeps extends SharedParts {
  readonly lineage: TreeLineage;
}

/** How a revocation treats a token. "taken" revokes it; "root" and "self" spare it; "mismatched": not in the filter. */
export type Verdict = "taken" | "gone" | "mismatched" | "root" | "self";

/**
 * Decides which tokens of a tree a revocation matches, by the sealed rows of the tree. The list that found them has no
 * seals: without this check an attacker who can write its storage could choose what is revoked. Only the hour of the
 * last use is taken from the list, because the tree does not store it.
 */
export class MeantTokens {
  readonly #tree: MeantDeps;
  readonly #request: MeantInTree;
  readonly #now: number;
  readonly #spared: ReadonlySet<number>;
  readonly #named: ReadonlySet<number>;
  readonly #lastUses: ReadonlyMap<string, number | null>;
  readonly #taken = new Map<number, boolean>();

  /**
   * @param now ms.
   * @param lastUses hour of the last use (ms) that the list has of ancestors, by accessor.
   */
  constructor(tree: MeantDeps, request: MeantInTree, now: number, lastUses: ReadonlyMap<string, number | null>) {
    this.#tree = tree;
    this.#request = request;
    this.#now = now;
    this.#lastUses = lastUses;
    this.#spared = new Set(request.spare === null ? [] : tree.lineage.rowsAbove(request.spare));
    this.#named = new Set(request.filter === null ? request.tokens.map(({ row }) => row) : []);
  }

  /** How the revocation treats a token of its request. */
  verdict({ row, tail }: RowAndTail): Verdict {
    const { filter } = this.#request;
    const token = this.#tree.tokens.live(row, this.#now);
    if (!token || !equalBytes(token.fixed.accessorTail, tail)) return "gone";
    if (filter && !this.#isListedRightly(token, filter)) return "mismatched";
    return this.#unlessKept(token);
  }

  /** True when the revocation matches the token itself, whether or not the request contains it. */
  takes(row: number): boolean {
    const known = this.#taken.get(row);
    if (known !== undefined) return known;
    const taken = this.#takes(row);
    this.#taken.set(row, taken);
    return taken;
  }

  #takes(row: number): boolean {
    const { filter } = this.#request;
    const token = this.#tree.tokens.live(row, this.#now);
    if (!token || (filter === null && !this.#named.has(row))) return false;
    return (!filter || this.#isMeant(token, filter)) && this.#unlessKept(token) === "taken";
  }

  #unlessKept({ row, fixed }: TokenRow): Verdict {
    if (!this.#request.includeRoot && isRoot(fixed.record)) return "root";
    return this.#spared.has(row) ? "self" : "taken";
  }

  #isListedRightly(token: TokenRow, filter: TokenFilter): boolean {
    const { treeId } = this.#tree;
    const { unusedSince, ...rest } = filter;
    const listed = this.#listed(token);
    if (!isEverMeant(rest, listed, treeId)) {
      reportTampering({ kind: "inventory entry", object: treeId, row: token.row });
      return false;
    }
    return matches(listed.lastUsed === null ? rest : { ...rest, unusedSince }, listed, treeId, this.#now);
  }

  #isMeant(token: TokenRow, filter: TokenFilter): boolean {
    const listed = this.#listed(token);
    const lastUsed = listed.lastUsed ?? this.#lastUses.get(listed.accessor) ?? null;
    return matches(filter, { ...listed, lastUsed }, this.#tree.treeId, this.#now);
  }

  /** The fields of a token that filters test. `children` is not counted. */
  #listed(token: TokenRow): ListedToken {
    const { tokens, inventory } = this.#tree;
    const entry = inventory.newEntryOf(token, tokens.parentOf(token, this.#now));
    return { ...entry, lastUsed: inventory.lastUsed(token.row), id: token.row };
  }
}

/** Revokes the matching tokens of a request. Synchronous, so that all of them are revoked in one transaction. */
export function revokeFiltered(
  tree: MeantDeps,
  request: Omit<RevokeInTree, "sweptByCaller">,
  now: number,
): RevokedInTree {
  const done = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };
  const { tokens, lineage, descendants } = tree;
  const meant = new MeantTokens(tree, request, now, new Map());
  const taken = new Set<number>();
  for (const token of request.tokens) {
    const verdict = meant.verdict(token);
    if (verdict === "taken") taken.add(token.row);
    else if (verdict === "root" || verdict === "self") done.spared++;
    else done[verdict]++;
  }
  const known = new Map<number, boolean>();
  for (const row of taken) {
    if (lineage.hasAbove(row, (above) => taken.has(above), known)) continue;
    done.total += 1 + descendants.count(row, now, Number.MAX_SAFE_INTEGER);
  }
  if (!request.dry) for (const row of taken) tokens.revoke(row, REVOKED, "revoked", request.asked);
  return { ...done, revoked: taken.size };
}
