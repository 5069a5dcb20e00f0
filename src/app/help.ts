import type { Route } from "../auth/route.ts";
import type { Operation } from "../policy/acl.ts";
import type { Shape } from "../wire/shape.ts";
import { openApiDocument } from "./openapi/document.ts";
import type { JsonSchema } from "./openapi/json-schema.ts";
import { fieldsOf, parameterDescription, pathParameters } from "./openapi/operation.ts";
import type { RouteTable } from "./places.ts";

/** What `path-help` answers for a path: a text for people, and a document for programs. */
export interface Help {
  readonly text: string;
  /** The OpenAPI document of the endpoints that the text is about. */
  readonly openapi: JsonSchema;
}

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
 * What `path-help` answers: of an endpoint its methods and parameters, of a mount or a part of one the endpoints below.
 *
 * @param path as the table has it; "" for all of the table.
 * @param idPrefix stands before the names of operations.
 * @returns null when nothing is at or below the path.
 */
export function helpOf(table: RouteTable, path: string, idPrefix: string, version: string): Help | null {
  const asked = path.replace(/\/+$/, "");
  const serving = table.serving(asked);
  const endpoint = [...serving.keys()];
  const routes = endpoint.length > 0 ? endpoint : table.routes.filter((route) => isBelow(route, asked));
  if (routes.length === 0) return null;
  return {
    text: endpoint.length > 0 ? endpointText(asked, serving) : mountText(routes),
    openapi: openApiDocument([{ routes, dialect: "vault", prefix: "", parameters: {}, idPrefix }], version),
  };
}

function isBelow(route: Route, asked: string): boolean {
  return asked === "" || route.path.startsWith(`${asked}/`);
}

function endpointText(request: string, serving: ReadonlyMap<Route, readonly Operation[]>): string {
  const routes = [...serving.keys()];
  const patterns = [...new Set(routes.map(pattern))];
  const methods = [...serving].flatMap(([route, operations]) =>
    methodsOf(operations).map((method) => `${method}\n        ${route.description.summary}`),
  );
  const parameters = new Map(routes.flatMap(parametersOf));
  const lines = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    `Request:        ${request}\nMatching Route: ${patterns.join(", ")}`,
    routes[0]?.description.summary ?? "",
    section("METHODS", methods),
    ...(lines.length > 0
      ? [
          section(
            "PARAMETERS",
            lines.map(([name, text]) => `${name} ${text}`),
          ),
        ]
      : []),
  ].join("\n\n");
}

function mountText(routes: readonly Route[]): string {
  const byPath = new Map<string, Route[]>();
  for (const route of routes) byPath.set(pattern(route), [...(byPath.get(pattern(route)) ?? []), route]);
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

/** The route's path with its parameters as `:name`. */
function pattern(route: Route): string {
  return route.path.replace(/\{[^/]*\}/g, "");
}

/** The parameters of a route in path, body or query, each with its type and what it means. */
function parametersOf(route: Route): [string, string][] {
  const inPath = pathParameters(route).map((name): [string, string] => [
    name,
    described("string", undefined, parameterDescription(route, name)),
  ]);
  const fields = fieldsOf(route).map(({ name, shape, format, description }): [string, string] => [
    name,
    described(shape, format, description),
  ]);
  return [...fields, ...inPath];
}

/** A type, in the words that the reference uses, and what the parameter means. */
function described(shape: Shape, format: string | undefined, description: string): string {
  return `(${typeName(shape, format)})\n\n        ${description}`;
}

function typeName(shape: Shape, format: string | undefined): string {
  if (format === "seconds") return "duration (sec)";
  if (format === "kvpairs") return "keypair";
  if (typeof shape !== "string") return Array.isArray(shape) ? "slice" : "map";
  const [type = ""] = shape.split(" | ");
  return { integer: "int", boolean: "bool", object: "map" }[type] ?? type;
}
