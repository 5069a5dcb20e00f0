import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { ReadyContext, Route } from "../auth/route.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { AccessRequest } from "../policy/acl.ts";
import { isListing, type Operation } from "../policy/operation.ts";
import type { Installation } from "../system/installation.ts";
import type { Dialect } from "../wire/dialect.ts";
import { VAULT } from "../wire/envelope.ts";
import { NO_FIELDS, withoutNulls } from "../wire/field-schema.ts";
import type { GroveRequest } from "../wire/request.ts";

interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes of one mount or interface, matched with Hono's routers by operation and path. */
export class RouteTable {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter<Route>(), new TrieRouter<Route>()] });
  readonly #operations: ReadonlySet<Operation>;
  /** Matches of routes without parameters, by operation and path. There are no more of them than routes. */
  readonly #plain = new Map<string, RouteMatch>();
  readonly routes: readonly Route[];
  readonly dialect: Dialect;
  /** Prefix of the ids of its operations in descriptions. */
  readonly idPrefix: string;

  constructor(routes: readonly Route[], dialect = VAULT, idPrefix = "") {
    this.routes = routes;
    this.dialect = dialect;
    this.idPrefix = idPrefix;
    for (const route of routes) {
      for (const operation of route.operations) this.#router.add(operation, `/${route.path}`, route);
    }
    this.#operations = new Set(routes.flatMap((route) => route.operations));
  }

  /** Returns the route of an operation on a path, or the failure (404 or 405) when there is none. */
  match(operation: Operation, path: string): Result<RouteMatch> {
    const match = this.find(operation, path);
    if (match) return ok(match);
    for (const other of this.#operations) {
      if (other !== operation && this.find(other, path)) return err({ code: "unsupported_operation" });
    }
    return err({ code: "unsupported_path" });
  }

  serving(path: string): ReadonlyMap<Route, readonly Operation[]> {
    const found = new Map<Route, readonly Operation[]>();
    for (const operation of this.#operations) {
      const route = this.find(operation, path)?.route;
      if (route) found.set(route, [...(found.get(route) ?? []), operation]);
    }
    return found;
  }

  find(operation: Operation, path: string): RouteMatch | null {
    const key = `${operation} ${path}`;
    const known = this.#plain.get(key);
    if (known) return known;
    const [handlers, stash] = this.#router.match(operation, `/${path}`);
    const first = handlers[0];
    if (!first) return null;
    const [route, indices] = first;
    const params: Record<string, string> = {};
    for (const [name, value] of Object.entries(indices)) {
      params[name] = typeof value === "number" ? (stash?.[value] ?? "") : value;
    }
    const found = { route, params };
    if (route.path === path) this.#plain.set(key, found);
    return found;
  }
}

export interface RouteTables {
  readonly fixed: RouteTable;
  /** Routes of the interfaces of registered credentials, with full paths. */
  readonly apis: readonly RouteTable[];
  /** Routes of each type of auth mount, by the path below the mount. Types of the same method have the same table. */
  readonly byMountType: ReadonlyMap<string, RouteTable>;
  /** The tables of routes with full paths, by the first segment of the path. */
  readonly byFirstSegment: ReadonlyMap<string, RouteTable>;
}

/** Returns the tables of auth mounts, each with the first type that it serves. */
export function distinctTypes({ byMountType }: Pick<RouteTables, "byMountType">): [type: string, table: RouteTable][] {
  const seen = new Set<RouteTable>();
  return [...byMountType].filter(([, table]) => !seen.has(table) && seen.add(table));
}

type Asked = Pick<GroveRequest, "operation" | "path">;

/** A table of routes, and the path of its mount. */
export interface MountedTable {
  readonly table: RouteTable;
  /** Full path of the auth mount (`auth/…`), with a slash at the end; "" for routes with full paths. */
  readonly mount: string;
}

/** Returns the table of routes with full paths that serves a path, if any. */
export function tableOf({ byFirstSegment }: RouteTables, path: string): RouteTable | undefined {
  const end = path.indexOf("/");
  return byFirstSegment.get(end < 0 ? path : path.slice(0, end));
}

const NO_ROUTES = new RouteTable([]);

/**
 * Returns the place of a path, or null. Mounts are created at run time, so each request looks up its mount in the
 * installation. For help, the path can also be that of the mount itself.
 */
export function findTable(
  tables: RouteTables,
  installation: Installation | null,
  { operation, path }: Asked,
): MountedTable | null {
  const fixed = tableOf(tables, path);
  if (fixed) return { table: fixed, mount: "" };
  const mount = installation?.mountServing(operation === "help" ? `${path}/` : path);
  if (!mount) return null;
  const table = tables.byMountType.get(mount.type) ?? NO_ROUTES;
  return { table, mount: `auth/${mount.path}` };
}

export interface FoundRoute extends RouteMatch {
  /** The part of the path below the mount. */
  readonly mountPath: string;
  /** The full path with the names of its parameters. */
  readonly pattern: string;
}

/** Returns the route of a request in a table, or the failure (404 or 405) when there is none. */
export function findRoute(mounted: MountedTable | null, { operation, path }: Asked): Result<FoundRoute> {
  if (!mounted) return err({ code: "no_route", path });
  const mountPath = path.slice(mounted.mount.length);
  const match = mounted.table.match(operation, mountPath);
  if (!match.ok) return match;
  const { route, params } = match.value;
  return ok({ route, params, mountPath, pattern: mounted.mount + route.path });
}

/** Returns the fields of a request without the null ones that its route takes as absent. */
export function presentFields(route: Route | null, data: GroveRequest["data"]): GroveRequest["data"] {
  if (route?.access === "token") return withoutNulls(route.nullsBy ?? route.fields, data, route.fieldName);
  return route?.access === "login" ? withoutNulls(route.fields, data, route.fieldName) : withoutNulls(NO_FIELDS, data);
}

/** Returns a request in the terms of policies: with the canonical path of its route, and the other paths, if any. */
export async function accessOf(
  context: Pick<ReadyContext, "env" | "installation">,
  request: Pick<GroveRequest, "operation" | "path" | "data" | "wrapTtlSeconds">,
  found: FoundRoute | null,
): Promise<AccessRequest> {
  const { operation, wrapTtlSeconds } = request;
  const data = presentFields(found?.route ?? null, request.data);
  const route = found?.route.access === "token" ? found.route : null;
  const mountPath = found?.mountPath ?? request.path;
  const others = await route?.otherPaths?.(context, request.path, data);
  const base = request.path.slice(0, request.path.length - mountPath.length);
  const path = base + (route?.canonicalPath?.(mountPath, data) ?? mountPath);
  const mount = found ? base : context.installation.mountPathServing(request.path);
  return {
    operation: operation === "update" && route?.createsOrUpdates ? "create_or_update" : operation,
    path: isListing(operation) ? `${path}/` : path,
    ...others,
    ...(mount && { mount }),
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
}
