import type { Route } from "../../auth/route.ts";
import type { Shape } from "../../wire/shape.ts";

/** What the documents say about one field of an endpoint. */
export interface DocumentedField {
  readonly name: string;
  readonly description: string;
  readonly shape: Shape;
  readonly format?: string;
  readonly otherwise?: boolean;
  readonly deprecated?: true;
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
