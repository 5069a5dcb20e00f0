import { currentTime } from "../../base/clock.ts";
import { askApart } from "../../base/turns/clean-up.ts";
import { sweepThreads } from "../../base/turns/threads.ts";
import { accessorShard } from "../../listing/accessor-shard.ts";
import { accessorShardNumber } from "../../listing/accessor-shard-number.ts";
import { decodeStoredId, rowGeneratedAt } from "../../token/ids.ts";
import type { SharedParts } from "../shared-parts.ts";
import {
  compareLists,
  dropEntries,
  forMissingOwners,
  orphanChildrenOfMissingParents,
  TIDY_ROWS,
  type TidyRow,
  tokensAfter,
} from "./damage.ts";
import { termsOfLeaseData, termsOfTokens, termsOfValues } from "./needed-terms.ts";
import { NO_REPAIRS, type TreeRepairs } from "./report.ts";
import { SAFETY_AGE_MS, type TidyStep, type TidyStepResult, type TreePosition } from "./step.ts";

/**
 * Tokens of one step where requests share its thread: they wait some ms for it. Elsewhere a step has `TIDY_ROWS`
 * tokens, because each step calls all shards of the list.
 */
const SHARED_THREAD_TOKENS = 50;

const FIRST_ROWS: TreePosition = { table: "tokens", after: 0 };

/** The result of a step on one table. */
interface TableStep {
  readonly repairs: Partial<TreeRepairs>;
  /** Key terms that its rows need. */
  readonly terms?: readonly number[];
  readonly next: TreePosition | null;
}

/** The progress of a run in all rows of the tree. */
interface WalkProgress {
  /** The run and its aged terms, as JSON. */
  readonly of: string;
  /** null at the end. */
  readonly next: TreePosition | null;
  readonly terms: ReadonlySet<number>;
}

/** Accessors that are listed. A "wrong" entry does not count: it may be in another shard than the token's. */
function listedOf({ accessors }: TidyStep): ReadonlySet<string> {
  return new Set(accessors.filter(({ entry }) => entry !== "wrong").map(({ accessor }) => accessor));
}

function walkOf({ run, aged }: TidyStep): string {
  return JSON.stringify([run, aged]);
}

/** The part of a tidy run that works on the rows of one tree. */
export class TreeTidy {
  readonly #tree: SharedParts;
  /**
   * The progress of the last run in the rows of this tree, with the key terms that they need. Several shards may list
   * the tree in one run, and a caller repeats its step after a crash: rows are checked once, but every caller gets all
   * terms. In memory only: after a restart of the object, a caller continues from its own cursor.
   */
  #progress: WalkProgress | null = null;

  constructor(tree: SharedParts) {
    this.#tree = tree;
  }

  /** Performs one step: a batch of rows of one table. The tables follow one after the other. */
  async perform(step: TidyStep): Promise<TidyStepResult> {
    const found = compareLists(
      this.#tree.sql,
      this.#tree.treeId,
      step,
      (accessor) => decodeStoredId(accessor)?.row ?? null,
    );
    const known = this.#progress?.of === walkOf(step) ? this.#progress : null;
    if (known?.next === null) return { ...found, repairs: NO_REPAIRS, terms: [...known.terms], next: null };
    // The first step searches the whole table of tokens at once, by its primary key.
    const before = known?.terms ?? (step.from === null ? termsOfTokens(this.#tree.sql, step.aged) : []);
    const { repairs, terms = [], next } = await this.#batch(step, known?.next ?? step.from ?? FIRST_ROWS);
    const all = new Set([...before, ...terms]);
    this.#progress = { of: walkOf(step), next, terms: all };
    return { ...found, repairs: { ...NO_REPAIRS, ...repairs }, terms: [...all], next };
  }

  async #batch(step: TidyStep, from: TreePosition): Promise<TableStep> {
    switch (from.table) {
      case "tokens":
        return this.#tokens(from.after, listedOf(step));
      case "cubbyhole":
        return this.#cubbyhole(from.after);
      case "leases":
        return this.#leases(from.after, step.aged.length > 0);
      case "values": {
        const { terms, next } = termsOfValues(this.#tree.sql, from);
        return { repairs: {}, terms, next: next ?? { table: "lease data", after: 0 } };
      }
      case "lease data":
        return { repairs: {}, ...termsOfLeaseData(this.#tree.sql, from) };
    }
  }

  /** @param listed accessors that are known to be on the list. */
  async #tokens(after: number, listed: ReadonlySet<string>): Promise<TableStep> {
    const limit = sweepThreads().shared ? SHARED_THREAD_TOKENS : TIDY_ROWS;
    const tokens = tokensAfter(this.#tree.sql, this.#tree.treeId, after, limit);
    const last = tokens.at(-1);
    if (!last) return { repairs: {}, next: { table: "cubbyhole", after: 0 } };
    const orphaned = orphanChildrenOfMissingParents(this.#tree.sql, after, last.row);
    const seals = this.#tree.tokens.checkSeals(after + 1, last.row);
    const ended = this.#tree.tokens.revokeEnded(after + 1, last.row);
    const now = currentTime();
    const unsure = tokens.filter(
      ({ row, accessor }) => !listed.has(accessor) && rowGeneratedAt(row) < now - SAFETY_AGE_MS,
    );
    const relisted = await this.#relist(unsure);
    const next: TreePosition =
      tokens.length < limit ? { table: "cubbyhole", after: 0 } : { table: "tokens", after: last.row };
    return { repairs: { orphaned, relisted, revoked: ended, ...seals }, next };
  }

  /** Lists those of the tokens that are alive and not on their list. Returns the number of listed tokens. */
  async #relist(unsure: readonly TidyRow[]): Promise<number> {
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

  #cubbyhole(after: number): TableStep {
    const { sql } = this.#tree;
    const { done, next } = forMissingOwners(sql, "cubbyhole", after, (owners) => dropEntries(sql, owners));
    return {
      repairs: { cubbyholeEntries: done },
      next: next === null ? { table: "leases", after: 0 } : { table: "cubbyhole", after: next },
    };
  }

  #leases(after: number, hasAged: boolean): TableStep {
    const { sql, leases } = this.#tree;
    const { done, next } = forMissingOwners(sql, "leases", after, (owners) =>
      leases.store.endSomeOfTokens(owners, currentTime(), TIDY_ROWS),
    );
    const atEnd: TreePosition | null = hasAged ? { table: "values", after: 0 } : null;
    return { repairs: { leasesEnded: done }, next: next === null ? atEnd : { table: "leases", after: next } };
  }
}

function byShard<T extends { readonly accessor: string }>(tokens: readonly T[]): Map<number, T[]> {
  return Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor));
}

/** The result of a tree that was never created, or whose storage is lost: no listed token exists. */
export function nothingHere({ accessors, customIds }: TidyStep): TidyStepResult {
  const goneAccessors = accessors.map(({ accessor }) => accessor);
  return {
    goneAccessors,
    goneCustomIds: customIds,
    staleEntries: [],
    wrongEntries: [],
    repairs: NO_REPAIRS,
    terms: [],
    next: null,
  };
}
