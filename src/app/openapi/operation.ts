import type { Route } from "../../auth/route.ts";
import type { Answer, RouteDescription } from "../../auth/route-description.ts";
import type { Operation } from "../../policy/acl.ts";
import type { FieldKind } from "../../wire/fields.ts";

/** The description of one field of an endpoint. */
export interface DocumentedField extends FieldKind {
  readonly name: string;
  readonly description: string;
}

/** Returns the names of the parameters in the path of a route. */
export function pathParameters(route: Route): string[] {
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
}

/** Returns the fields of a route in body or query. A name in the path takes precedence over a field. */
export function fieldsOf(route: Route): DocumentedField[] {
  const described = Object.entries(route.description.fields ?? {}).map(([name, field]) => ({ name, ...field }));
  const inPath = pathParameters(route);
  return [...described, ...schemaFields(route)].filter(({ name }) => !inPath.includes(name));
}

/** Returns the description of a parameter in the path; "" when it has none. */
export function parameterDescription(route: Route, name: string): string {
  const field = schemaFields(route).find((candidate) => candidate.name === name);
  return route.description.parameters?.[name] ?? field?.description ?? "";
}

function schemaFields(route: Route): DocumentedField[] {
  if (route.access === "open") return [];
  return route.fields.entries.map(([name, { kind, description }]) => {
    return { ...kind, name: route.fieldName?.(name) ?? name, description };
  });
}

/** Returns the id of an operation, its name in generated clients; "" when it has none. */
export function operationIdOf({ operationId }: RouteDescription, operation: Operation): string {
  return typeof operationId === "string" ? operationId : (operationId[operation] ?? "");
}

/** Returns the answers of an operation that succeeds. */
export function answersOf({ answers }: RouteDescription, operation: Operation): readonly Answer[] {
  const own = isOneOrMore(answers) ? answers : (answers[operation] ?? []);
  return "kind" in own ? [own] : own;
}

/** False for answers by operation. */
function isOneOrMore(answers: RouteDescription["answers"]): answers is Answer | readonly Answer[] {
  return Array.isArray(answers) || "kind" in answers;
}
