import { equalBytes } from "../crypto/bytes.ts";
import { type ListedToken, newEntry } from "../listing/inventory/entry.ts";
import { isEverMeant, matches, type TokenFilter } from "../listing/inventory/filter.ts";
import type { MeantInTree } from "../listing/inventory/revoke-in-tree.ts";
import { ROOT_POLICY } from "../policy/name.ts";
import { reportTampering } from "../storage/tampering.ts";
import type { RowAndTail } from "../token/ids.ts";
import type { TreeLineage } from "./lineage.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeStore } from "./tree-store.ts";
import type { TreeUpdates } from "./updates/tree-updates.ts";

/** What the judgement needs of the tree around it. */
export interface MeantDeps {
  readonly treeId: string;
  readonly tokens: TreeStore;
  readonly lineage: TreeLineage;
  readonly inventory: TreeUpdates;
}

/** What a revocation does with a token: `taken` ends it. */
export type Verdict = "taken" | "gone" | "mismatched" | "root" | "self";

/**
 * Judges which tokens of a tree a revocation means, by the rows of the tree. The list that they were found in has no seals: who
 * writes the storage could otherwise choose what is revoked. Only the hour of the last use is the list's alone.
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
   * @param lastUses what the list knows of tokens that it was not asked for, by accessor.
   */
  constructor(tree: MeantDeps, request: MeantInTree, now: number, lastUses: ReadonlyMap<string, number | null>) {
    this.#tree = tree;
    this.#request = request;
    this.#now = now;
    this.#lastUses = lastUses;
    this.#spared = new Set(request.spare === null ? [] : tree.lineage.rowsAbove(request.spare));
    this.#named = new Set(request.filter === null ? request.tokens.map(({ row }) => row) : []);
  }

  /** What becomes of a token that the list has for the revocation. */
  verdict({ row, tail }: RowAndTail): Verdict {
    const { filter } = this.#request;
    const token = this.#tree.tokens.live(row, this.#now);
    if (!token || !equalBytes(token.fixed.accessorTail, tail)) return "gone";
    if (filter && !this.#isListedRightly(token, filter)) return "mismatched";
    return this.#unlessKept(token);
  }

  /** True when the revocation means the token by itself, whether the list was asked for it or not. */
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
    if (!this.#request.includeRoot && fixed.record.policies.includes(ROOT_POLICY)) return "root";
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

  /** What filters ask of a token. Its children are not counted. */
  #listed(token: TokenRow): ListedToken {
    const { tokens, inventory } = this.#tree;
    const { record, accessor } = token.fixed;
    const isOrphan = token.parent === null || tokens.isOrphan(token, this.#now);
    const parent = isOrphan || token.parent === null ? null : tokens.accessorOf(token.parent);
    const entry = newEntry({ record, expiresAt: token.expires_at }, accessor, parent);
    return { ...entry, lastUsed: inventory.lastUsed(token.row), id: token.row };
  }
}
