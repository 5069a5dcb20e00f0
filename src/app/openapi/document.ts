import { aclOfRequest } from "../../auth/caller.ts";
import { type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { type AnswerDescription, plainAnswer, type RouteDescription } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { ok } from "../../base/result.ts";
import { groveVersion } from "../../base/version.ts";
import { type Operation, requiresSudo } from "../../policy/operation.ts";
import type { Mount } from "../../system/mount.ts";
import type { Dialect } from "../../wire/dialect.ts";
import { VAULT } from "../../wire/envelope.ts";
import type { FieldKind } from "../../wire/fields.ts";
import { ROUTE_PARAMETER } from "../route-parameter.ts";
import { distinctTypes, type RouteTables } from "../route-tables.ts";
import { type JsonSchema, RESPONSE_COMPONENTS, responsesOf, SCHEMA_COMPONENTS, schemaOf } from "./answers.ts";

/** Routes with a common prefix of their paths. */
interface DocumentedRoutes {
  readonly routes: readonly Route[];
  readonly dialect: Dialect;
  /** Prefix of the path of each route, with a slash at the end; "" for none. It can contain `{name}`. */
  readonly prefix: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly idPrefix: string;
}

interface DocumentedField extends FieldKind {
  readonly name: string;
  readonly description: string;
}

interface PlacedOperation {
  readonly mount: DocumentedRoutes;
  readonly route: Route;
  readonly operation: Operation;
  /** With parameters in braces. */
  readonly path: string;
}

/** The HTTP method of each operation in the document. A list is a GET with `list=true`. */
const METHODS: Readonly<Partial<Record<Operation, string>>> = {
  read: "get",
  list: "get",
  update: "post",
  patch: "patch",
  delete: "delete",
};

export function openApiDocument(mounts: readonly DocumentedRoutes[], version: string): JsonSchema {
  const ids = new Set<string>();
  const items = operationsByPath(mounts)
    .map((operations) => ({ operations, main: mainOf(operations) }))
    .sort((a, b) => (a.main.path < b.main.path ? -1 : 1))
    .map(({ operations, main }) => [main.path, pathItem(operations, main, ids)]);
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
    servers: [{ url: VAULT.described.base }],
    paths: Object.fromEntries(items),
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

/** Returns the operations of each path. Paths that differ only in the names of their parameters are one path. */
function operationsByPath(mounts: readonly DocumentedRoutes[]): PlacedOperation[][] {
  const placed = mounts.flatMap((mount) =>
    mount.routes.flatMap((route) => {
      const operations = route.operations.filter((operation) => METHODS[operation]);
      return operations.map((operation) => ({ mount, route, operation, path: templateOf(mount, route) }));
    }),
  );
  // The parameter for the path of a mount is kept: each type of mount has its own.
  return [...Map.groupBy(placed, ({ path }) => path.replace(/\{(?!\w+_mount_path\})\w+\}/g, "{}")).values()];
}

/** Returns the operation that describes a path or a method with several operations: its read, or else the first. */
function mainOf(placed: readonly PlacedOperation[]): PlacedOperation {
  const main = placed.find(({ operation }) => operation === "read") ?? placed[0];
  if (!main) throw new Error("a path has an operation");
  return main;
}

function templateOf({ prefix }: DocumentedRoutes, route: Route): string {
  const path = route.path.replace(ROUTE_PARAMETER, (_, name: string, pattern = "") => {
    return `{${name}}${pattern.endsWith("/tune}") ? "/tune" : ""}`;
  });
  return `/${prefix}${path}`.replace(/(.)\/$/, "$1");
}

function pathItem(operations: readonly PlacedOperation[], main: PlacedOperation, ids: Set<string>): JsonSchema {
  const { mount, route } = main;
  const inPath = pathParameters(route).map((name) => [name, parameterDescription(route, name)] as const);
  const parameters = [...Object.entries(mount.parameters), ...inPath].map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
  const byMethod = Map.groupBy(operations, ({ operation }) => METHODS[operation]);
  const created = operations.some((one) => one.route.access === "token" && one.route.createsOrUpdates);
  return {
    ...(parameters.length > 0 && { parameters }),
    ...(operations.every(needsSudo) && { "x-vault-sudo": true }),
    ...(operations.every((one) => one.route.access !== "token") && { "x-vault-unauthenticated": true }),
    ...(created && { "x-vault-createSupported": true }),
    ...(mount.dialect !== VAULT && { servers: [{ url: mount.dialect.described.base }] }),
    ...Object.fromEntries([...byMethod].map(([method, placed]) => [method, operationOf(placed, ids)])),
  };
}

function needsSudo({ operation, path }: PlacedOperation): boolean {
  const plain = path.slice(1).replace(/[{}]/g, "");
  return requiresSudo(operation, operation === "list" ? `${plain}/` : plain);
}

/** Describes one HTTP method of a path. `placed` has two operations where a GET is both a read and a list. */
function operationOf(placed: readonly PlacedOperation[], ids: Set<string>): JsonSchema {
  const main = mainOf(placed);
  const { mount, route, operation } = main;
  const { dialect } = mount;
  const others = placed.filter((other) => other !== main).map((other) => other.route.description.summary);
  const writes = operation === "update" || operation === "patch";
  const fields = [
    ...new Map(placed.flatMap((one) => routeFields(one.route)).map((field) => [field.name, field])).values(),
  ];
  const hasQuery = !writes && (operation !== "delete" || dialect.described.queriesDeletions);
  const inQuery = ({ name }: DocumentedField) => hasQuery || route.description.queryOfWrite?.includes(name) === true;
  const query = queryOf(fields.filter(inQuery), placed);
  const inBody = fields.filter((field) => !inQuery(field));
  const answers = placed.flatMap((each) => answersOf(each.route.description, each.operation));
  return {
    summary: route.description.summary,
    ...(others.length > 0 && { description: others.join(" ") }),
    operationId: uniqueId(mount.idPrefix + operationIdOf(route.description, operation), mount.prefix, ids),
    tags: [tagOf(main)],
    ...(needsSudo(main) && { "x-vault-sudo": true }),
    ...(query.length > 0 && { parameters: query }),
    ...(writes && { requestBody: requestBody(inBody, operation, dialect) }),
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
  const { tag } = mount.dialect.described;
  if (tag !== null) return tag;
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

function requestBody(fields: readonly DocumentedField[], operation: Operation, { described }: Dialect) {
  const named = fields.filter(({ name }) => name !== "*");
  const properties = named.map((field) => [field.name, { ...fieldSchema(field), description: field.description }]);
  const schema = {
    type: "object",
    ...(named.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(named.length < fields.length && { additionalProperties: true }),
  };
  const mediaType = operation === "patch" ? described.patchType : described.mediaType;
  return { content: { [mediaType]: { schema: described.bodyOf(schema) } } };
}

function fieldSchema({ shape, format, otherwise, deprecated }: DocumentedField): JsonSchema {
  return {
    ...schemaOf(shape),
    ...(format !== undefined && { format }),
    ...(otherwise !== undefined && { default: otherwise }),
    ...(deprecated && { deprecated }),
  };
}

export function pathParameters(route: Route): string[] {
  return [...route.path.matchAll(ROUTE_PARAMETER)].map(([, name]) => name ?? "");
}

/** Returns the fields of a route in body or query. A name in the path takes precedence over a field. */
export function routeFields(route: Route): DocumentedField[] {
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
export function answersOf({ answers }: RouteDescription, operation: Operation): readonly AnswerDescription[] {
  if ("kind" in answers) return [answers];
  const own = Symbol.iterator in answers ? answers : (answers[operation] ?? []);
  return "kind" in own ? [own] : own;
}

/** An auth mount, with descriptions of the names in its path. */
interface DocumentedMount extends Pick<Mount, "type" | "path"> {
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The documents of the whole interface, made once in each isolate. They are the same for all callers. */
const texts: { usual?: string; generic?: string } = {};

/**
 * Returns the route of the OpenAPI document: of the whole interface, or with a token, with the mounts that the caller
 * can access. `tables` is a function, because they include this route.
 */
export function openApiRoute(tables: () => RouteTables): Route {
  return openRoute(["read", "update"], "sys/internal/specs/openapi", {
    summary: "Answers this document.",
    operationId: {
      read: "internal-generate-open-api-document",
      update: "internal-generate-open-api-document-with-parameters",
    },
    fields: {
      generic_mount_paths: { shape: "boolean", description: "True: the path of each auth mount is a parameter" },
      context: { shape: "string", description: "Not used" },
    },
    answers: plainAnswer({ openapi: "string", info: "object", paths: "object", components: "object", "*": "any" }),
    handle: async (context) => {
      const text = await textOf(context, tables());
      return ok({ kind: "text", status: 200, mediaType: "application/json", text });
    },
  });
}

async function textOf(context: OpenContext, tables: RouteTables): Promise<string> {
  const { env, request, loaded } = context;
  const documentOf = (places: DocumentedRoutes[]) => JSON.stringify(openApiDocument(places, groveVersion(env)));
  const { generic_mount_paths: generic } = request.data;
  if (generic === true || generic === "true" || generic === "1") {
    texts.generic ??= documentOf(genericPlaces(tables));
    return texts.generic;
  }
  const acl = loaded.ok ? await aclOfRequest(env, loaded.value, request) : null;
  if (loaded.ok && acl) {
    const now = currentTime();
    const mounts = loaded.value.mounts.filter(({ path }) => acl.grantsAnythingUnder(`auth/${path}`, now));
    return documentOf(placesAt(tables, mounts));
  }
  texts.usual ??= documentOf(usualPlaces(tables));
  return texts.usual;
}

/** Returns the whole interface, with each auth method mounted at the path of its name. */
export function usualPlaces(routes: RouteTables): DocumentedRoutes[] {
  const mounts = distinctTypes(routes).map(([type]) => ({ type, path: `${type}/` }));
  return placesAt(routes, mounts);
}

/** Returns the whole interface, with a parameter for the path of each type of mount but that of the token method. */
export function genericPlaces(routes: RouteTables): DocumentedRoutes[] {
  const mounts = distinctTypes(routes).map(([type]): DocumentedMount => {
    if (type === "token") return { type, path: "token/" };
    const name = `${type}_mount_path`;
    return { type, path: `{${name}}/`, parameters: { [name]: `Path of the mount of the type ${type}` } };
  });
  return placesAt(routes, mounts);
}

function placesAt({ fixed, apis, byMountType }: RouteTables, mounts: readonly DocumentedMount[]): DocumentedRoutes[] {
  const full = { prefix: "", parameters: {} };
  const methods = mounts.flatMap(({ type, path, parameters = {} }): DocumentedRoutes[] => {
    const table = byMountType.get(type);
    if (!table) return [];
    const { routes, dialect, idPrefix } = table;
    return [{ routes, dialect, prefix: `auth/${path}`, parameters, idPrefix }];
  });
  const others = [fixed, ...apis].map(({ routes, dialect, idPrefix }) => ({ ...full, routes, dialect, idPrefix }));
  return [...others, ...methods];
}
