import type { Route } from "../auth/route.ts";
import type { Operation } from "../policy/operation.ts";
import { VAULT } from "../wire/envelope.ts";
import { isOneOf, isOrNull, type Shape } from "../wire/view.ts";
import { openApiDocument, parameterDescription, pathParameters, routeFields } from "./openapi/document.ts";
import type { RouteTable } from "./route-tables.ts";

const METHODS: Readonly<Partial<Record<Operation, string>>> = {
  read: "GET",
  list: "LIST",
  update: "POST",
  patch: "PATCH",
  delete: "DELETE",
  head: "HEAD",
};

/**
 * Returns the help for a path of the table ("": all of it): the methods and parameters of an endpoint, or the endpoints
 * below the path; null when there is nothing. `idPrefix`: prefix of the operation ids.
 */
export function helpOf(table: RouteTable, path: string, idPrefix: string, version: string) {
  const asked = path.replace(/\/+$/, "");
  const serving = table.serving(asked);
  const isEndpoint = serving.size > 0;
  const routes = isEndpoint
    ? [...serving.keys()]
    : table.routes.filter(({ path: at }) => asked === "" || at.startsWith(`${asked}/`));
  if (routes.length === 0) return null;
  return {
    text: isEndpoint ? endpointText(asked, routes, serving) : mountText(routes),
    openapi: openApiDocument([{ routes, dialect: VAULT, prefix: "", parameters: {}, idPrefix }], version),
  };
}

function endpointText(request: string, routes: readonly Route[], serving: ReadonlyMap<Route, readonly Operation[]>) {
  const patterns = [...new Set(routes.map(pattern))];
  const methods = [...serving].flatMap(([route, operations]) =>
    methodsOf(operations).map((method) => `${method}\n        ${route.description.summary}`),
  );
  const described = [...new Map(routes.flatMap(parametersOf))].sort(([a], [b]) => (a < b ? -1 : 1));
  const parameters = described.map((entry) => entry.join(" "));
  return [
    `Request:        ${request}\nMatching Route: ${patterns.join(", ")}`,
    routes[0]?.description.summary ?? "",
    section("METHODS", methods),
    ...(parameters.length > 0 ? [section("PARAMETERS", parameters)] : []),
  ].join("\n\n");
}

function mountText(routes: readonly Route[]): string {
  const byPath = Map.groupBy(routes, pattern);
  const lines = [...byPath]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, all]) => {
      const lines = all.map((route) => `${methodsOf(route.operations).join(", ")}: ${route.description.summary}`);
      return [path, ...lines].join("\n        ");
    });
  return section("PATHS", lines);
}

function section(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.map((line) => `    ${line}`).join("\n\n")}`;
}

function methodsOf(operations: readonly Operation[]): string[] {
  const names: readonly string[] = operations;
  return Object.entries(METHODS).flatMap(([operation, method]) => (names.includes(operation) ? [method] : []));
}

function pattern(route: Route): string {
  return route.path.replace(/\{[^/]*\}/g, "");
}

function parametersOf(route: Route): [name: string, text: string][] {
  const inPath = pathParameters(route).map((name) => {
    return { name, shape: "string", format: undefined, description: parameterDescription(route, name) } as const;
  });
  return [...routeFields(route), ...inPath].map(({ name, shape, format, description }) => [
    name,
    `(${typeName(shape, format)})\n\n        ${description}`,
  ]);
}

/** Returns the name of a type as the reference writes it. */
function typeName(shape: Shape, format: string | undefined): string {
  if (format === "seconds") return "duration (sec)";
  if (format === "kvpairs") return "keypair";
  if (isOrNull(shape)) return typeName(shape[1], format);
  if (isOneOf(shape)) return "string";
  if (typeof shape !== "string") return Array.isArray(shape) ? "slice" : "map";
  const [type = ""] = shape.split(" | ");
  return { integer: "int", boolean: "bool", object: "map" }[type] ?? type;
}
