import { addNumbers } from "../base/add-numbers.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import type { Env } from "../env.ts";
import { accessorShard, shardCount } from "../listing/accessor-shards.ts";
import { type ListedClaim, SAFETY_AGE_MS } from "../listing/inventory/entry.ts";
import type { AgedTerm } from "../system/aged-terms.ts";
import { decodeStoredId, rowGeneratedAt, treeIdOf } from "../token/ids.ts";
import { treeAt } from "../token/tree-stub.ts";
import { CUSTOM_ID_SHARDS, customIdsShard } from "../tree/custom-ids.ts";
import type { TidyStep, TidyStepResult, TreePosition } from "../tree/tidy/tidy-step.ts";
import type { TidyReport } from "./report.ts";

/** Entries of a page. It is also the maximum number of trees that one step calls. */
export const LIST_PAGE = 100;
const TREES_PER_STEP = 24;

/** Where a run reads the lists next. */
export interface ListPosition {
  readonly list: "accessors" | "custom_ids";
  readonly shard: number;
  readonly after: string;
}

/** Start of a run over everything, and of a run that leaves out the accessors. */
export const FIRST_POSITION: ListPosition = { list: "accessors", shard: 0, after: "" };
export const FIRST_WITHOUT_ACCESSORS: ListPosition = { list: "custom_ids", shard: 0, after: "" };

/** A run over the lists and the trees that they name, as it is stored between two steps. */
export interface ListRun {
  /** A tree checks its own rows once for all runs with the same number. */
  readonly number: number;
  readonly startedAt: Ms;
  /** null when all lists are read. */
  readonly position: ListPosition | null;
  /** Trees of the last page, with the position in their rows. They are finished before the next page. */
  readonly work: readonly { readonly treeId: string; readonly from: TreePosition }[];
  readonly report: TidyReport;
  /** Terms of keys whose use the run looks for. They can be dropped if nothing needs them. */
  readonly aged: readonly AgedTerm[];
  /** Versions of the terms that the run has found to be needed so far. */
  readonly needed: readonly number[];
}

/** What a tree is asked: to check entries of the lists that name its tokens, and to continue with its own rows. */
interface Question extends Partial<Pick<TidyStep, "from" | "accessors" | "customIds">> {
  readonly treeId: string;
}

type TreeAnswer = TidyStepResult & { readonly treeId: string };

/**
 * Performs the next step of a run: has some unfinished trees continue with their own rows. When there is none, it reads
 * the next page of a list, has the trees of the page report entries without a token and begin with their own rows, and
 * repairs the list. Safe to repeat.
 */
export async function listStep<Run extends ListRun>(env: Env, run: Run): Promise<Run> {
  const { work, position } = run;
  if (work.length > 0) {
    const some = work.slice(0, TREES_PER_STEP);
    const answers = await askTrees(env, run, some);
    return withAnswers({ ...run, work: work.slice(TREES_PER_STEP) }, some.length, answers);
  }
  if (!position) return run;
  const check = position.list === "accessors" ? checkAccessors : checkCustomIds;
  const { entries, asked, answers, repairs } = await check(env, run, position);
  const after = withAnswers({ ...run, position: positionAfter(position, entries) }, asked, answers);
  return { ...after, report: addNumbers(after.report, repairs) };
}

/**
 * Removes accessors without a token, and corrects entries that differ from their trees. Entries that are too new are
 * not compared. Their trees check their rows all the same: a watermark can have ended a new token. Safe to repeat.
 */
async function checkAccessors(env: Env, run: ListRun, { shard: number, after }: ListPosition) {
  const now = currentTime();
  const shard = accessorShard(env, number);
  const listed = await shard.claims(after, LIST_PAGE);
  const placed = listed.map((claim) => ({ claim, place: decodeStoredId(claim.accessor) }));
  // No tree can be called for an entry that is not a valid accessor.
  const broken = placed.flatMap(({ claim, place }) => (place ? [] : [claim.accessor]));
  const named = placed.flatMap(({ claim, place }) => (place ? [{ claim, isOld: isOld(place.row, now) }] : []));
  const byTree = [...Map.groupBy(named, ({ claim }) => treeIdOf(claim.accessor))];
  const questions = byTree.map(([treeId, of]) => ({ treeId, accessors: oldOnes(of) }));
  const answers = await askTrees(env, run, questions);
  const gone = [...broken, ...answers.flatMap(({ goneAccessors }) => goneAccessors)];
  if (gone.length > 0) await shard.remove(gone);
  const stale = answers.flatMap(({ staleEntries }) => staleEntries);
  const listedWrong = oldOnes(named)
    .filter(({ entry }) => entry === "wrong")
    .map(({ accessor }) => accessor);
  const wrong = [...new Set([...listedWrong, ...answers.flatMap(({ wrongEntries }) => wrongEntries)])];
  if (stale.length + wrong.length > 0) await shard.describeAnew(stale, wrong);
  const revived = answers.flatMap((answer) => answer.revived ?? []);
  if (revived.length > 0) logRevived(revived);
  const entries = listed.map(({ accessor }) => accessor);
  const removed = { accessorsExamined: entries.length, accessorsRemoved: gone.length };
  const repairs = { ...removed, tampered: wrong.length, revived: revived.length };
  return { entries, asked: questions.length, answers, repairs };
}

/** Logs that trees were put back to an earlier state. A page has at most `LIST_PAGE` accessors. */
function logRevived(accessors: readonly string[]): void {
  const trees = [...new Set(accessors.map(treeIdOf))];
  console.error(JSON.stringify({ type: "revived tokens", trees, accessors }));
}

function oldOnes(claims: readonly { readonly claim: ListedClaim; readonly isOld: boolean }[]): ListedClaim[] {
  return claims.flatMap(({ claim, isOld }) => (isOld ? [claim] : []));
}

/** Releases custom ids without a token. Entries that are too new are left out. Safe to repeat. */
async function checkCustomIds(env: Env, run: ListRun, { shard: number, after }: ListPosition) {
  const now = currentTime();
  const shard = customIdsShard(env, number);
  const listed = await shard.page(after, LIST_PAGE);
  const old = listed.filter(({ row }) => isOld(row, now));
  const byTree = [...Map.groupBy(old, ({ treeId }) => treeId)];
  const questions = byTree.map(([treeId, of]) => ({ treeId, customIds: of.map(({ key, row }) => ({ key, row })) }));
  const answers = await askTrees(env, run, questions);
  const gone = answers.flatMap(({ treeId, goneCustomIds }) => goneCustomIds.map((entry) => ({ ...entry, treeId })));
  // An entry is released only if it still names the checked token: a new token may have taken the id since.
  await shard.release(gone);
  const entries = listed.map(({ key }) => key);
  const repairs = { customIdsExamined: entries.length, customIdsRemoved: gone.length };
  return { entries, asked: questions.length, answers, repairs };
}

function isOld(row: number, now: Ms): boolean {
  return rowGeneratedAt(row) < now - SAFETY_AGE_MS;
}

function positionAfter(position: ListPosition, entries: readonly string[]): ListPosition | null {
  const last = entries.at(-1);
  if (last !== undefined && entries.length === LIST_PAGE) return { ...position, after: last };
  const shards = position.list === "accessors" ? shardCount() : CUSTOM_ID_SHARDS;
  if (position.shard + 1 < shards) return { ...position, shard: position.shard + 1, after: "" };
  return position.list === "accessors" ? FIRST_WITHOUT_ACCESSORS : null;
}

/** Has each tree perform its step. A tree that fails is skipped, so that one broken tree does not stop the run. */
async function askTrees(env: Env, { number, aged }: ListRun, questions: readonly Question[]): Promise<TreeAnswer[]> {
  const answers = await env.deployment.pace.askApart(
    questions,
    async ({ treeId, ...question }): Promise<TreeAnswer | null> => {
      const step: TidyStep = { run: number, aged, from: null, accessors: [], customIds: [], ...question };
      try {
        return { treeId, ...(await treeAt(env, treeId).tidy(step)) };
      } catch (error) {
        console.error(JSON.stringify({ type: "tidy", tree: treeId, error: String(error) }));
        return null;
      }
    },
  );
  return answers.filter((answer) => answer !== null);
}

function withAnswers<Run extends ListRun>(run: Run, asked: number, answers: readonly TreeAnswer[]): Run {
  const steps = addNumbers(run.report, { treeSteps: asked, failures: asked - answers.length });
  return {
    ...run,
    work: [...run.work, ...answers.flatMap(({ treeId, next }) => (next ? [{ treeId, from: next }] : []))],
    report: answers.reduce((sum, { repairs }) => addNumbers(sum, repairs), steps),
    needed: [...new Set([...run.needed, ...answers.flatMap(({ terms }) => terms)])],
  };
}
