import { askTreesApart } from "../base/turns/clean-up.ts";
import type { Env } from "../env.ts";
import { treeOf } from "../token/find-tree.ts";
import type { TidyStep, TidyStepResult } from "../tree/tidy/step.ts";
import { nothingHere } from "../tree/tidy/tree-tidy.ts";
import type { TidyRun } from "./tidy-store.ts";

/** A step for one tree. */
export interface TreeQuestion extends Omit<TidyStep, "run" | "aged"> {
  readonly treeId: string;
}

/** What one tree answered. */
export interface TreeTidyAnswer extends TidyStepResult {
  readonly treeId: string;
}

/** Has each tree perform its step. A tree that fails is skipped: one broken tree must not stop the run for the others. */
export async function askTrees(
  env: Env,
  { number, aged }: Pick<TidyRun, "number" | "aged">,
  questions: readonly TreeQuestion[],
): Promise<TreeTidyAnswer[]> {
  const answers = await askTreesApart(questions, (question) => askTree(env, { run: number, aged, ...question }));
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
