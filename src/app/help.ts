import type { Route } from "../auth/route.ts";
import type { Operation } from "../policy/acl.ts";
import type { RouteTable } from "./route-table.ts";

/** What a client sends for each operation. */
const METHODS: Readonly<Partial<Record<Operation, string>>> = {
  read: "GET",
  list: "LIST",
  update: "POST",
  patch: "PATCH",
  delete: "DELETE",
  head: "HEAD",
};

/**
 * The text of `path-help`: for an endpoint its methods and parameters, for a mount or a part of one the endpoints below.
 *
 * @param path as the table has it; "" for all of the table.
 * @returns null when nothing is at or below the path.
 */
export function helpText(table: RouteTable, path: string): string | null {
  const asked = path.replace(/\/+$/, "");
  const serving = table.serving(asked);
  if (serving.size > 0) return endpointText(asked, serving);
  const below = table.routes.filter((route) => asked === "" || route.path.startsWith(`${asked}/`));
  return below.length === 0 ? null : mountText(below);
}

function endpointText(request: string, serving: ReadonlyMap<Route, readonly Operation[]>): string {
  const routes = [...serving.keys()];
  const patterns = new Set(routes.map((route) => pattern(route)));
  const parameters = [...new Set(routes.flatMap((route) => [...named(route), ...fieldsOf(route)]))].sort();
  const summaries = new Set(routes.flatMap(({ description }) => description.summary || []));
  return [
    `Request:        ${request}\nMatching Route: ${[...patterns].join(", ")}`,
    ...summaries,
    section("METHODS", methodsOf([...serving.values()].flat())),
    ...(parameters.length > 0 ? [section("PARAMETERS", parameters)] : []),
  ].join("\n\n");
}

function mountText(routes: readonly Route[]): string {
  const operations = new Map<string, Operation[]>();
  for (const route of routes) {
    const key = pattern(route);
    operations.set(key, [...(operations.get(key) ?? []), ...route.operations]);
  }
  const lines = [...operations]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, list]) => `${path}\n        ${methodsOf(list).join(", ")}`);
  return section("PATHS", lines);
}

function section(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.map((line) => `    ${line}`).join("\n\n")}`;
}

function methodsOf(operations: readonly Operation[]): string[] {
  const methods = Object.entries(METHODS).filter(([operation]) => operations.includes(operation as Operation));
  return methods.map(([, method]) => method);
}

/** The route's path with its parameters as `:name`. */
function pattern(route: Route): string {
  return route.path.replace(/\{[^/]*\}/g, "");
}

/** The parameters in body or query. */
function fieldsOf(route: Route): string[] {
  return route.access === "open" ? [] : Object.keys(route.fields.shape);
}

/** The parameters in the route's path. */
function named(route: Route): string[] {
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
}
