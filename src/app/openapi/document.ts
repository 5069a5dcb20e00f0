import type { Route } from "../../auth/route.ts";
import type { Operation } from "../../policy/acl.ts";
import { requiresSudo } from "../../policy/protected.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { MEDIA_TYPES, RESPONSE_COMPONENTS, responsesOf, SCHEMA_COMPONENTS } from "./answers.ts";
import { type JsonSchema, schemaOf } from "./json-schema.ts";
import {
  answersOf,
  type DocumentedField,
  fieldsOf,
  operationIdOf,
  parameterDescription,
  pathParameters,
} from "./operation.ts";

/** A parameter object of OpenAPI 3. */
type Parameter = Readonly<Record<string, unknown>>;

/** Routes that stand below one path. */
export interface DocumentedRoutes {
  readonly routes: readonly Route[];
  readonly dialect: GroveRequest["dialect"];
  /** The path before that of each route, with a slash at the end; "" for none. It may hold `{name}`. */
  readonly prefix: string;
  /** What the names in the prefix stand for. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Stands before the id of each operation. */
  readonly idPrefix: string;
}

/** An operation with its place in the document. */
interface PlacedOperation {
  readonly mount: DocumentedRoutes;
  readonly route: Route;
  readonly operation: Operation;
}

/** The HTTP method of each operation that the document has; a list is a GET with `list=true`. */
const METHODS: Readonly<Partial<Record<Operation, string>>> = {
  read: "get",
  list: "get",
  update: "post",
  patch: "patch",
  delete: "delete",
};

const PATCH_TYPE = "application/merge-patch+json";

/** The OpenAPI document of some routes. */
export function openApiDocument(mounts: readonly DocumentedRoutes[], version: string, title = "Grove"): JsonSchema {
  const paths = new Map<string, PlacedOperation[]>();
  for (const mount of mounts) {
    for (const route of mount.routes) {
      for (const operation of route.operations) {
        if (!METHODS[operation]) continue;
        const path = templateOf(mount, route);
        paths.set(path, [...(paths.get(path) ?? []), { mount, route, operation }]);
      }
    }
  }
  const ids = new Set<string>();
  const sorted = mergedByShape(paths).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    openapi: "3.0.3",
    info: {
      title,
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

/** The path with its parameters in braces. */
function templateOf({ prefix }: DocumentedRoutes, route: Route): string {
  const path = route.path.replace(/:(\w+)(\{(?:[^{}]|\{[^{}]*\})*\})?/g, (_, name: string, pattern = "") => {
    return `{${name}}${pattern.endsWith("/tune}") ? "/tune" : ""}`;
  });
  return `/${prefix}${path}`.replace(/(.)\/$/, "$1");
}

/** Paths that differ in the names of their parameters only are one path: the names of the one that is read stand. */
function mergedByShape(paths: ReadonlyMap<string, PlacedOperation[]>): [string, PlacedOperation[]][] {
  const merged = new Map<string, [string, PlacedOperation[]]>();
  for (const [path, operations] of paths) {
    // Not those of mounts: each kind of mount has a parameter of its own there.
    const shape = path.replace(/\{(?!\w+_mount_path\})\w+\}/g, "{}");
    const known = merged.get(shape);
    if (!known) merged.set(shape, [path, operations]);
    else {
      const all = [...known[1], ...operations];
      merged.set(shape, [operations.some(({ operation }) => operation === "read") ? path : known[0], all]);
    }
  }
  return [...merged.values()];
}

function pathItem(operations: readonly PlacedOperation[], ids: Set<string>): JsonSchema {
  const [first] = operations;
  if (!first) return {};
  const byMethod = new Map<string, PlacedOperation[]>();
  for (const placed of operations) {
    const method = METHODS[placed.operation] ?? "";
    byMethod.set(method, [...(byMethod.get(method) ?? []), placed]);
  }
  const parameters = parametersOf(operations.find(({ operation }) => operation === "read") ?? first);
  const sudo = operations.every(needsSudo);
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(sudo && { "x-vault-sudo": true }),
    ...(operations.every(({ route }) => route.access !== "token") && { "x-vault-unauthenticated": true }),
    ...(operations.some(({ route }) => route.access === "token" && route.createsOrUpdates) && {
      "x-vault-createSupported": true,
    }),
    ...(first.mount.dialect === "json-api" && { servers: [{ url: "/api/v2" }] }),
    ...Object.fromEntries([...byMethod].map(([method, placed]) => [method, operationOf(placed, ids)])),
  };
}

function needsSudo({ mount, route, operation }: PlacedOperation): boolean {
  const path = templateOf(mount, route).slice(1).replace(/[{}]/g, "");
  return requiresSudo(operation, operation === "list" ? `${path}/` : path);
}

function parametersOf({ mount, route }: PlacedOperation): Parameter[] {
  const inPrefix = Object.entries(mount.parameters);
  const inPath = pathParameters(route).map((name) => [name, parameterDescription(route, name)] as const);
  return [...inPrefix, ...inPath].map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
}

/** One operation of the document. A GET can stand for a read and a list. */
function operationOf(placed: readonly PlacedOperation[], ids: Set<string>): JsonSchema {
  const main = placed.find(({ operation }) => operation === "read") ?? placed[0];
  if (!main) return {};
  const { mount, route, operation } = main;
  const { dialect } = mount;
  const others = placed.filter((other) => other !== main);
  const writes = operation === "update" || operation === "patch";
  const fields = placed.flatMap(({ route: each }) => fieldsOf(each));
  const lists = placed.some((each) => each.operation === "list");
  const listOnly = operation === "list";
  const query = writes || (dialect === "vault" && operation === "delete") ? [] : queryOf(fields, lists, listOnly);
  const answers = placed.flatMap((each) => answersOf(each.route.description, each.operation));
  return {
    summary: route.description.summary,
    ...(others.length > 0 && { description: others.map((other) => other.route.description.summary).join(" ") }),
    operationId: uniqueId(mount.idPrefix + operationIdOf(route.description, operation), mount.prefix, ids),
    tags: [tagOf(main)],
    ...(needsSudo(main) && { "x-vault-sudo": true }),
    ...(query.length > 0 && { parameters: query }),
    ...(writes && { requestBody: requestBody(fields, operation, dialect) }),
    responses: responsesOf(route, answers, dialect),
    ...(route.access !== "token" && { security: [] }),
  };
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

function queryOf(fields: readonly DocumentedField[], lists: boolean, listOnly: boolean): Parameter[] {
  const list = {
    name: "list",
    in: "query",
    description: listOnly ? "Must be `true`." : "`true` asks for a list.",
    schema: { type: "string", ...(listOnly && { enum: ["true"] }) },
    ...(listOnly && { required: true }),
  };
  const parameters = unique(fields).map((field) => ({
    name: field.name,
    in: "query",
    description: field.description,
    schema: fieldSchema(field),
  }));
  return [...(lists ? [list] : []), ...parameters];
}

function requestBody(
  fields: readonly DocumentedField[],
  operation: Operation,
  dialect: DocumentedRoutes["dialect"],
): JsonSchema {
  const any = fields.some(({ name }) => name === "*");
  const named = unique(fields).filter(({ name }) => name !== "*");
  const properties = Object.fromEntries(
    named.map((field) => [field.name, { ...fieldSchema(field), description: field.description }]),
  );
  const attributes = {
    type: "object",
    ...(named.length > 0 && { properties }),
    ...(any && { additionalProperties: true }),
  };
  const schema =
    dialect === "vault"
      ? attributes
      : {
          type: "object",
          properties: {
            data: { type: "object", required: ["type"], properties: { type: { type: "string" }, attributes } },
          },
        };
  const mediaType = operation === "patch" && dialect === "vault" ? PATCH_TYPE : MEDIA_TYPES[dialect];
  return { content: { [mediaType]: { schema } } };
}

function fieldSchema({ shape, format, otherwise, deprecated }: DocumentedField): JsonSchema {
  return {
    ...schemaOf(shape ?? "any"),
    ...(format !== undefined && { format }),
    ...(otherwise !== undefined && { default: otherwise }),
    ...(deprecated && { deprecated }),
  };
}

function unique(fields: readonly DocumentedField[]): DocumentedField[] {
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}
