import { currentTime } from "../base/clock.ts";
import { askApart } from "../base/turns/clean-up.ts";
import type { Env } from "../env.ts";
import { treeOf } from "../token/find-tree.ts";
import { addToReport, NO_REPORT, type TidyReport } from "../tree/tidy/report.ts";
import type { TidyStep, TidyStepResult } from "../tree/tidy/step.ts";
import { nothingHere } from "../tree/tidy/tree-tidy.ts";
import { type ListPosition, mendInventory, readPage, removeGone } from "./lists.ts";
import type { StepDone, TidyRun, TreeWork } from "./tidy-store.ts";

/** Maximum number of trees that one step continues. */
export const TREES_PER_STEP = 24;

/** The request of a step to one tree. */
interface TreeQuestion extends Omit<TidyStep, "run" | "aged"> {
  readonly treeId: string;
}

/** Answer of one tree. */
interface TreeTidyAnswer extends TidyStepResult {
  readonly treeId: string;
}

/** Result of a step: what it did, and the trees that it has begun and not finished. */
export interface StepResult {
  readonly left: readonly TreeWork[];
  readonly done: StepDone;
}

/** Result of a step on a page of a list. */
export interface PageResult extends StepResult {
  readonly next: ListPosition | null;
}

/** The run of a step: its number, and the terms of keys whose use it looks for. */
type RunOfStep = Pick<TidyRun, "number" | "aged">;

/**
 * Has the trees of a page report which of its entries have no token, and begin to check their own rows. Safe to repeat.
 */
export async function tidyPage(env: Env, run: RunOfStep, position: ListPosition): Promise<PageResult> {
  const page = await readPage(env, position, currentTime());
  const questions = [...page.claims].map(([treeId, claims]) => ({ treeId, from: null, ...claims }));
  const answers = await askTrees(env, run, questions);
  const removed = await removeGone(env, position, page, answers);
  const mended = await mendInventory(env, position, page, answers);
  const report = addToReport(totals(questions.length, answers), { ...page.examined, ...removed, ...mended });
  return { next: page.next, left: workLeft(answers), done: { report, needed: neededTerms(answers) } };
}

/** Continues the check of the own rows of trees. Safe to repeat. */
export async function tidyTrees(env: Env, run: RunOfStep, work: readonly TreeWork[]): Promise<StepResult> {
  const questions = work.map((tree) => ({ ...tree, accessors: [], customIds: [] }));
  const answers = await askTrees(env, run, questions);
  return { left: workLeft(answers), done: { report: totals(work.length, answers), needed: neededTerms(answers) } };
}

function workLeft(answers: readonly TreeTidyAnswer[]): TreeWork[] {
  return answers.flatMap(({ treeId, next }) => (next ? [{ treeId, from: next }] : []));
}

function neededTerms(answers: readonly TreeTidyAnswer[]): number[] {
  return answers.flatMap(({ terms }) => terms);
}

function totals(asked: number, answers: readonly TreeTidyAnswer[]): TidyReport {
  const start = { ...NO_REPORT, treeSteps: asked, failures: asked - answers.length };
  return answers.reduce((sum, { repairs }) => addToReport(sum, repairs), start);
}

/**
 * Has each tree perform its step. A tree that fails is skipped: one broken tree must not stop the run for the others.
 */
async function askTrees(
  env: Env,
  { number, aged }: Pick<TidyRun, "number" | "aged">,
  questions: readonly TreeQuestion[],
): Promise<TreeTidyAnswer[]> {
  const answers = await askApart(questions, (question) => askTree(env, { run: number, aged, ...question }));
  return answers.filter((answer) => answer !== null);
}

async function askTree(env: Env, { treeId, ...step }: TreeQuestion & TidyStep): Promise<TreeTidyAnswer | null> {
  const tree = treeOf(env, treeId);
  if (!tree) return { treeId, ...nothingHere(step) };
  try {
    return { treeId, ...(await tree.tidy(step)) };
  } catch (error) {
    console.error(JSON.stringify({ type: "tidy", tree: treeId, error: String(error) }));
    return null;
  }
}
