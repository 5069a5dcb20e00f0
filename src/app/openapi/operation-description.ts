import type { Answer, RouteDescription } from "../../auth/route-description.ts";
import type { Operation } from "../../policy/acl.ts";

/** The name of an operation in generated clients, "" where nothing says it. */
export function operationIdOf({ operationId }: RouteDescription, operation: Operation): string {
  return typeof operationId === "string" ? operationId : (operationId[operation] ?? "");
}

/** The answers of an operation that succeeds. */
export function answersOf({ answers }: RouteDescription, operation: Operation): readonly Answer[] {
  if (isAnswers(answers)) return answers;
  if (isAnswer(answers)) return [answers];
  const own = answers[operation] ?? [];
  return isAnswers(own) ? own : [own];
}

type Answers = RouteDescription["answers"];

function isAnswers(answers: Answers): answers is readonly Answer[] {
  return Array.isArray(answers);
}

function isAnswer(answers: Exclude<Answers, readonly Answer[]>): answers is Answer {
  return "kind" in answers && typeof answers.kind === "string";
}
