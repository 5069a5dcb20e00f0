import type { Route } from "../../auth/route.ts";
import type { Answer, RouteDescription } from "../../auth/route-description.ts";
import type { Operation } from "../../policy/acl.ts";
import { fieldsOf, leavesFieldsOpen, parameterDescription, pathParameters } from "./operation-fields.ts";

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

/** What the description of a route leaves out, as phrases; none when it is complete. */
export function missingFrom(route: Route): string[] {
  const { description } = route;
  const shown = route.operations.filter((operation) => operation !== "scan" && operation !== "head");
  return [
    ...(description.summary === "" ? ["a summary"] : []),
    ...shown.filter((operation) => operationIdOf(description, operation) === "").map((name) => `an id for ${name}`),
    ...shown.filter((operation) => answersOf(description, operation).length === 0).map((name) => `answers to ${name}`),
    ...(new Set(shown.map((operation) => operationIdOf(description, operation))).size < shown.length
      ? ["an id of its own for each operation"]
      : []),
    ...pathParameters(route)
      .filter((name) => parameterDescription(route, name) === "")
      .map((name) => `what :${name} stands for`),
    ...(leavesFieldsOpen(route) && !description.fields ? ["fields"] : []),
    ...fieldsOf(route)
      .filter(({ description: text }) => text === "")
      .map(({ name }) => `a description of ${name}`),
  ];
}

type Answers = RouteDescription["answers"];

function isAnswers(answers: Answers): answers is readonly Answer[] {
  return Array.isArray(answers);
}

function isAnswer(answers: Exclude<Answers, readonly Answer[]>): answers is Answer {
  return "kind" in answers && typeof answers.kind === "string";
}
