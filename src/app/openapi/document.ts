import type { Route } from "../../auth/route.ts";
import type { Operation } from "../../policy/acl.ts";
import { requiresSudo } from "../../policy/protected.ts";
import type { GroveRequest } from "../../wire/request.ts";
import {
  type JsonSchema,
  MEDIA_TYPES,
  RESPONSE_COMPONENTS,
  responsesOf,
  SCHEMA_COMPONENTS,
  schemaOf,
} from "./answers.ts";
import {
  answersOf,
  type DocumentedField,
  fieldsOf,
  operationIdOf,
  parameterDescription,
  pathParameters,
} from "./operation.ts";

/** Routes with a common prefix of their paths. */
export interface DocumentedRoutes {
  readonly routes: readonly Route[];
  readonly dialect: GroveRequest["dialect"];
  /** Prefix of the path of each route, with a slash at the end; "" for none. It can contain `{name}`. */
  readonly prefix: string;
  /** Descriptions of the names in the prefix. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Prefix of the id of each operation. */
  readonly idPrefix: string;
}

/** An operation and its place in the document. */
interface PlacedOperation {
  readonly mount: DocumentedRoutes;
  readonly route: Route;
  readonly operation: Operation;
}

/** The HTTP method of each operation in the document. A list is a GET with `list=true`. */
const METHODS: Readonly<Partial<Record<Operation, string>>> = {
  read: "get",
  list: "get",
  update: "post",
  patch: "patch",
  delete: "delete",
};

const PATCH_TYPE = "application/merge-patch+json";

/** Returns the OpenAPI document of some routes. */
export function openApiDocument(mounts: readonly DocumentedRoutes[], version: string): JsonSchema {
  const sorted = operationsByPath(mounts).sort(([a], [b]) => (a < b ? -1 : 1));
  const ids = new Set<string>();
  return {
    openapi: "3.0.3",
    info: {
      title: "Grove",
      version,
      description:
        "The HTTP API of Grove. All paths are below `/v1`, those of teams and organizations below `/api/v2`. Numbers, flags " +
        "and lists may also be sent as text, durations as seconds or as text such as `1h30m`. Every answer in the envelope can " +
        "be asked for wrapped by the header `X-Vault-Wrap-TTL`; then `wrap_info` stands in the place of `data` or `auth`.",
      license: { name: "MIT", url: "https://spdx.org/licenses/MIT.html" },
    },
    servers: [{ url: "/v1" }],
    paths: Object.fromEntries(sorted.map(([path, operations]) => [path, pathItem(operations, ids)])),
    components: {
      schemas: SCHEMA_COMPONENTS,
      responses: RESPONSE_COMPONENTS,
      securitySchemes: {
        Token: { type: "apiKey", in: "header", name: "X-Vault-Token" },
        Bearer: { type: "http", scheme: "bearer" },
      },
    },
    security: [{ Token: [] }, { Bearer: [] }],
  };
}

/**
 * Returns the operations by path. Paths that differ only in the names of their parameters are one path, with the names of
 * the operation `read`.
 */
function operationsByPath(mounts: readonly DocumentedRoutes[]): (readonly [string, readonly PlacedOperation[]])[] {
  const merged = new Map<string, { path: string; readonly operations: PlacedOperation[] }>();
  for (const mount of mounts) {
    for (const route of mount.routes) {
      const path = templateOf(mount, route);
      // The parameter for the path of a mount is kept: each type of mount has its own.
      const shape = path.replace(/\{(?!\w+_mount_path\})\w+\}/g, "{}");
      for (const operation of route.operations.filter((one) => METHODS[one])) {
        const known = merged.get(shape) ?? { path, operations: [] };
        if (operation === "read") known.path = path;
        known.operations.push({ mount, route, operation });
        merged.set(shape, known);
      }
    }
  }
  return [...merged.values()].map(({ path, operations }) => [path, operations] as const);
}

/** Returns the path of a route with its parameters in braces. */
function templateOf({ prefix }: DocumentedRoutes, route: Route): string {
  const path = route.path.replace(/:(\w+)(\{(?:[^{}]|\{[^{}]*\})*\})?/g, (_, name: string, pattern = "") => {
    return `{${name}}${pattern.endsWith("/tune}") ? "/tune" : ""}`;
  });
  return `/${prefix}${path}`.replace(/(.)\/$/, "$1");
}

function pathItem(operations: readonly PlacedOperation[], ids: Set<string>): JsonSchema {
  const main = operations.find(({ operation }) => operation === "read") ?? operations[0];
  if (!main) return {};
  const byMethod = Map.groupBy(operations, ({ operation }) => METHODS[operation]);
  const parameters = parametersOf(main);
  const created = operations.some(({ route }) => route.access === "token" && route.createsOrUpdates);
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(operations.every(needsSudo) && { "x-vault-sudo": true }),
    ...(operations.every(({ route }) => route.access !== "token") && { "x-vault-unauthenticated": true }),
    ...(created && { "x-vault-createSupported": true }),
    ...(main.mount.dialect === "json-api" && { servers: [{ url: "/api/v2" }] }),
    ...Object.fromEntries([...byMethod].map(([method, placed]) => [method, operationOf(placed, ids)])),
  };
}

function needsSudo({ mount, route, operation }: PlacedOperation): boolean {
  const path = templateOf(mount, route).slice(1).replace(/[{}]/g, "");
  return requiresSudo(operation, operation === "list" ? `${path}/` : path);
}

function parametersOf({ mount, route }: PlacedOperation): JsonSchema[] {
  const inPath = pathParameters(route).map((name) => [name, parameterDescription(route, name)] as const);
  return [...Object.entries(mount.parameters), ...inPath].map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
}

/** Returns one operation of the document. A GET can be a read and a list. */
function operationOf(placed: readonly PlacedOperation[], ids: Set<string>): JsonSchema {
  const main = placed.find(({ operation }) => operation === "read") ?? placed[0];
  if (!main) return {};
  const { mount, route, operation } = main;
  const { dialect } = mount;
  const others = placed.filter((other) => other !== main).map((other) => other.route.description.summary);
  const writes = operation === "update" || operation === "patch";
  const fields = uniqueFields(placed);
  const query = writes || (dialect === "vault" && operation === "delete") ? [] : queryOf(fields, placed);
  const answers = placed.flatMap((each) => answersOf(each.route.description, each.operation));
  return {
    summary: route.description.summary,
    ...(others.length > 0 && { description: others.join(" ") }),
    operationId: uniqueId(mount.idPrefix + operationIdOf(route.description, operation), mount.prefix, ids),
    tags: [tagOf(main)],
    ...(needsSudo(main) && { "x-vault-sudo": true }),
    ...(query.length > 0 && { parameters: query }),
    ...(writes && { requestBody: requestBody(fields, operation, dialect) }),
    responses: responsesOf(route, answers, dialect),
    ...(route.access !== "token" && { security: [] }),
  };
}

function uniqueFields(placed: readonly PlacedOperation[]): DocumentedField[] {
  const fields = placed.flatMap(({ route }) => fieldsOf(route));
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}

function uniqueId(id: string, prefix: string, ids: Set<string>): string {
  const own = ids.has(id) ? `${id}-at-${prefix.replace(/\W+/g, "-").replace(/^-|-$/g, "")}` : id;
  ids.add(own);
  return own;
}

function tagOf({ mount, route }: PlacedOperation): string {
  if (mount.dialect === "json-api") return "teams";
  if (mount.prefix !== "") return "auth";
  const [first = ""] = route.path.split("/", 1);
  return first === "sys" ? "system" : first.replace(/^\./, "");
}

function queryOf(fields: readonly DocumentedField[], placed: readonly PlacedOperation[]): JsonSchema[] {
  const parameters = fields.map((field) => ({
    name: field.name,
    in: "query",
    description: field.description,
    schema: fieldSchema(field),
  }));
  if (!placed.some(({ operation }) => operation === "list")) return parameters;
  const only = placed.every(({ operation }) => operation === "list");
  const list = {
    name: "list",
    in: "query",
    description: only ? "Must be `true`." : "`true` asks for a list.",
    schema: { type: "string", ...(only && { enum: ["true"] }) },
    ...(only && { required: true }),
  };
  return [list, ...parameters];
}

function requestBody(
  fields: readonly DocumentedField[],
  operation: Operation,
  dialect: DocumentedRoutes["dialect"],
): JsonSchema {
  const named = fields.filter(({ name }) => name !== "*");
  const properties = named.map((field) => [field.name, { ...fieldSchema(field), description: field.description }]);
  const attributes = {
    type: "object",
    ...(named.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(named.length < fields.length && { additionalProperties: true }),
  };
  if (dialect === "vault") {
    const mediaType = operation === "patch" ? PATCH_TYPE : MEDIA_TYPES.vault;
    return { content: { [mediaType]: { schema: attributes } } };
  }
  const data = { type: "object", required: ["type"], properties: { type: { type: "string" }, attributes } };
  return { content: { [MEDIA_TYPES[dialect]]: { schema: { type: "object", properties: { data } } } } };
}

function fieldSchema({ shape, format, otherwise, deprecated }: DocumentedField): JsonSchema {
  return {
    ...schemaOf(shape),
    ...(format !== undefined && { format }),
    ...(otherwise !== undefined && { default: otherwise }),
    ...(deprecated && { deprecated }),
  };
}
