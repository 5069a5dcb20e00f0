import type { Route } from "../../auth/route.ts";
import type { Answer, RouteDescription } from "../../auth/route-description.ts";
import type { Operation } from "../../policy/acl.ts";
import type { FieldKind } from "../../wire/fields.ts";

/** What the documents say about one field of an endpoint. */
export interface DocumentedField extends FieldKind {
  readonly name: string;
  readonly description: string;
}

/** The names in the path of a route. */
export function pathParameters(route: Route): string[] {
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
}

/** The fields of a route in body or query. One that the path has too is left out: the path counts. */
export function fieldsOf(route: Route): DocumentedField[] {
  const inPath = pathParameters(route);
  return [...describedFields(route), ...schemaFields(route)].filter(({ name }) => !inPath.includes(name));
}

/** What a name in the path stands for, "" where nothing says it. */
export function parameterDescription(route: Route, name: string): string {
  const field = schemaFields(route).find((candidate) => candidate.name === name);
  return route.description.parameters?.[name] ?? field?.description ?? "";
}

function describedFields({ description }: Route): DocumentedField[] {
  return Object.entries(description.fields ?? {}).map(([name, field]) => ({ name, ...field }));
}

function schemaFields(route: Route): DocumentedField[] {
  if (route.access === "open") return [];
  return route.fields.entries.map(([name, { kind, description }]) => {
    return { ...kind, name: route.fieldName?.(name) ?? name, description };
  });
}

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
