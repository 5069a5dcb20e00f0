import { addNumbers } from "../../base/add-numbers.ts";
import type { RevokedByJob } from "./ended-tokens.ts";
import { NOTHING_REVOKED, type RevokedInTree } from "./selection.ts";

/** Numbers of tokens that a step will end, by tree id. Several items of one tree add up. */
export type PlannedEnds = readonly (readonly [treeId: string, revoked: number, total: number])[];

export function sumOf(answers: readonly RevokedInTree[]): RevokedInTree {
  return answers.reduce((sum, one) => addNumbers(sum, one), NOTHING_REVOKED);
}

/**
 * Corrects the answer to a repeated step, which counts the tokens that the first attempt revoked as gone. The records
 * tell which tokens this job ended: other calls may have ended some meanwhile.
 */
export function withRecords(answer: RevokedInTree, recorded: RevokedByJob): RevokedInTree {
  const revoked = Math.max(answer.revoked, recorded.revoked);
  const total = Math.max(answer.total, recorded.total);
  return { ...answer, revoked, total, gone: Math.max(0, answer.gone - (revoked - answer.revoked)) };
}

/**
 * The answer to a repeated step where there are no records: what has ended since the plan counts as ended by the first
 * attempt. The plan has one item for each orphan of a tree with several.
 *
 * @param treeIds ids of the trees that gave the answers, in the same order.
 */
export function estimated(answers: readonly RevokedInTree[], treeIds: readonly string[], ends: PlannedEnds) {
  const planned = Map.groupBy(ends, ([treeId]) => treeId);
  return sumOf(answers.map((answer, at) => withLostAnswer(answer, planned.get(treeIds[at] ?? "") ?? [])));
}

function withLostAnswer(answer: RevokedInTree, planned: PlannedEnds): RevokedInTree {
  const [revoked, total] = planned.reduce(([sum, all], [, one, below]) => [sum + one, all + below], [0, 0]);
  const lost = Math.min(answer.gone, revoked - answer.revoked);
  if (lost <= 0) return answer;
  const ended = { revoked: answer.revoked + lost, total: Math.max(answer.total, total) };
  return { ...answer, ...ended, gone: answer.gone - lost };
}
