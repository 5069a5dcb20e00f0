import { currentTime } from "../../base/clock.ts";
import { askApart, sweepThreads } from "../../base/turns.ts";
import { accessorShard, accessorShardNumber } from "../../listing/accessor-shards.ts";
import { rowGeneratedAt } from "../../token/ids.ts";
import type { SharedParts } from "../shared-parts.ts";
import {
  compareLists,
  dropEntries,
  forMissingOwners,
  orphanChildrenOfMissingParents,
  TIDY_ROWS,
  termsOfLeaseData,
  termsOfTokens,
  termsOfValues,
  tokensAfter,
} from "./rows.ts";
import {
  NO_REPAIRS,
  SAFETY_AGE_MS,
  type TidyStep,
  type TidyStepResult,
  type TreePosition,
  type TreeRepairs,
} from "./step.ts";

/**
 * Tokens of one step where requests share its thread: they wait some ms for it. Elsewhere a step has `TIDY_ROWS`
 * tokens, because each step calls all shards of the list.
 */
const SHARED_THREAD_TOKENS = 50;

/** The tables in the order in which a run checks them. The last two are read only if key terms are to be deleted. */
const TABLES: readonly TreePosition["table"][] = ["tokens", "cubbyhole", "leases", "values", "lease data"];

/** The result of a step on one table. `next`: where the next step continues in the table; null at its end. */
interface TableStep {
  readonly repairs?: Partial<TreeRepairs>;
  readonly terms?: readonly number[];
  readonly next: Omit<TreePosition, "table"> | null;
}

/** The part of a tidy run that works on the rows of one tree. */
export class TreeTidy {
  readonly #tree: SharedParts;
  /**
   * The progress of the last run in the rows of this tree, with the key terms that they need. Several shards may list
   * the tree in one run, and a caller repeats its step after a crash: rows are checked once, but every caller gets all
   * terms. In memory only: after a restart of the object, a caller continues from its own cursor. `of`: the run and its
   * aged terms, as JSON.
   */
  #progress: { of: string; next: TreePosition | null; terms: ReadonlySet<number> } | null = null;

  constructor(tree: SharedParts) {
    this.#tree = tree;
  }

  async perform(step: TidyStep): Promise<TidyStepResult> {
    const found = compareLists(this.#tree.sql, this.#tree.treeId, step);
    const of = JSON.stringify([step.run, step.aged]);
    const known = this.#progress?.of === of ? this.#progress : null;
    if (known?.next === null) return { ...found, repairs: NO_REPAIRS, terms: [...known.terms], next: null };
    // The first step searches the whole table of tokens at once, by its primary key.
    const before = known?.terms ?? (step.from === null ? termsOfTokens(this.#tree.sql, step.aged) : []);
    const from = known?.next ?? step.from ?? { table: "tokens", after: 0 };
    const { repairs, terms = [], next: inTable } = await this.#batch(step, from);
    const next = inTable ? { table: from.table, ...inTable } : tableAfter(from, step);
    const all = new Set([...before, ...terms]);
    this.#progress = { of, next, terms: all };
    return { ...found, repairs: { ...NO_REPAIRS, ...repairs }, terms: [...all], next };
  }

  async #batch(step: TidyStep, from: TreePosition): Promise<TableStep> {
    const { sql, leases } = this.#tree;
    switch (from.table) {
      case "tokens":
        return this.#tokens(from.after, step);
      case "cubbyhole": {
        const { done, next } = forMissingOwners(sql, "cubbyhole", from.after, (owners) => dropEntries(sql, owners));
        return { repairs: { cubbyholeEntries: done }, next };
      }
      case "leases": {
        const { done, next } = forMissingOwners(sql, "leases", from.after, (owners) =>
          leases.store.endOfTokens(owners, currentTime(), TIDY_ROWS),
        );
        return { repairs: { leasesEnded: done }, next };
      }
      case "values":
        return termsOfValues(sql, from);
      case "lease data":
        return termsOfLeaseData(sql, from);
    }
  }

  async #tokens(after: number, { accessors }: TidyStep): Promise<TableStep> {
    const limit = sweepThreads().shared ? SHARED_THREAD_TOKENS : TIDY_ROWS;
    const tokens = tokensAfter(this.#tree.sql, this.#tree.treeId, after, limit);
    const last = tokens.at(-1);
    if (!last) return { next: null };
    const orphaned = orphanChildrenOfMissingParents(this.#tree.sql, after, last.row);
    const seals = this.#tree.tokens.checkSeals(after + 1, last.row);
    const ended = this.#tree.tokens.revokeEnded(after + 1, last.row);
    const now = currentTime();
    // A "wrong" entry may be in another shard than the token's.
    const listed = new Set(accessors.flatMap(({ accessor, entry }) => (entry === "wrong" ? [] : [accessor])));
    const unsure = tokens.filter(
      ({ row, accessor }) => !listed.has(accessor) && rowGeneratedAt(row) < now - SAFETY_AGE_MS,
    );
    const relisted = await this.#relist(unsure);
    const next = tokens.length < limit ? null : { after: last.row };
    return { repairs: { orphaned, relisted, revoked: ended, ...seals }, next };
  }

  /** Lists those of the tokens that are alive and not on their list. Returns the number of listed tokens. */
  async #relist(unsure: ReturnType<typeof tokensAfter>): Promise<number> {
    const { env, tokens, inventory } = this.#tree;
    const alive = inventory.describe(unsure.map(({ row }) => row));
    const added = await askApart([...byShard(alive)], ([shard, of]) => accessorShard(env, shard).relist(of));
    const relisted = added.reduce((sum, count) => sum + count, 0);
    if (relisted > 0) inventory.sizeIsWanted();
    // The sweep has deleted these meanwhile, and `relist` may have put them on the list again after their removal.
    const gone = unsure.filter(({ row }) => !tokens.exists(row));
    await Promise.all(
      [...byShard(gone)].map(([shard, of]) => accessorShard(env, shard).remove(of.map(({ accessor }) => accessor))),
    );
    return relisted;
  }
}

/** The beginning of the table that a run checks after that of `from`; null when that is the last one. */
function tableAfter({ table }: TreePosition, { aged }: TidyStep): TreePosition | null {
  const next = TABLES[TABLES.indexOf(table) + 1];
  return next === undefined || (next === "values" && aged.length === 0) ? null : { table: next, after: 0 };
}

function byShard<T extends { readonly accessor: string }>(tokens: readonly T[]): Map<number, T[]> {
  return Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor));
}

/** The result of a tree that was never created, or whose storage is lost: no listed token exists. */
export function nothingHere({ accessors, customIds }: TidyStep): TidyStepResult {
  const goneAccessors = accessors.map(({ accessor }) => accessor);
  const found = { goneAccessors, goneCustomIds: customIds, staleEntries: [], wrongEntries: [] };
  return { ...found, repairs: NO_REPAIRS, terms: [], next: null };
}
