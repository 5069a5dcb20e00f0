import type { ReadyContext, Route, TokenRoute } from "../auth/route.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { AccessRequest } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import { type GroveRequest, isListing } from "../wire/request.ts";
import type { RouteTable } from "./route-table.ts";

/** All routes, by where they are. */
export interface Tables {
  /** Those at fixed places, by the first segment of their paths. */
  readonly byPlace: ReadonlyMap<string, RouteTable>;
  /** Those of an auth mount, by the path below it. */
  readonly ofMount: (type: string) => RouteTable;
}

/** What finding a route looks at. */
type Asked = Pick<GroveRequest, "operation" | "path">;

/** The routes of a part of the service, and where that part is. */
export interface Place {
  readonly table: RouteTable;
  /** Path of the auth mount, with a slash at the end; "" for routes by their full paths. */
  readonly mount: string;
  /** Stands before the names of operations in descriptions. */
  readonly idPrefix: string;
}

/** A route that serves a request. */
export interface FoundRoute<R extends Route = Route> {
  readonly route: R;
  readonly params: Readonly<Record<string, string>>;
  /** The part of the path below the mount. */
  readonly mountPath: string;
  /** The full path with names in the place of parameters. */
  readonly pattern: string;
}

/** The auth mount that serves the path, or null. Help is given for the path of the mount itself, too. */
export function placeOfMount(tables: Tables, installation: Installation, { operation, path }: Asked): Place | null {
  const below = path.slice("auth/".length);
  const mount = installation.mountServing(operation === "help" ? `${below}/` : below);
  return mount ? { table: tables.ofMount(mount.type), mount: `auth/${mount.path}`, idPrefix: `${mount.type}-` } : null;
}

/** The place of a table whose routes have full paths. */
export function fixedPlace(table: RouteTable): Place {
  return { table, mount: "", idPrefix: "" };
}

/** The place that serves a path, or null. */
export function placeOf(tables: Tables, installation: Installation, asked: Asked): Place | null {
  const [first = ""] = asked.path.split("/", 1);
  if (first === "auth") return placeOfMount(tables, installation, asked);
  const table = tables.byPlace.get(first);
  return table ? fixedPlace(table) : null;
}

/** The route at a place that serves a request, or the 404 or 405 that says why there is none. */
export function findRoute(place: Place | null, { operation, path }: Asked): Result<FoundRoute> {
  if (!place) return err({ code: "no_route", path });
  const mountPath = path.slice(place.mount.length);
  const match = place.table.match(operation, mountPath);
  if (!match.ok) return match;
  const { route, params } = match.value;
  return ok({ route, params, mountPath, pattern: place.mount + route.path });
}

/**
 * A request as policies see it: by the canonical path of its route, and by its alternate path where there is one.
 *
 * @param found null where no endpoint serves the request.
 */
export async function accessOf(
  context: Pick<ReadyContext, "env" | "installation">,
  request: Pick<GroveRequest, "operation" | "path" | "data" | "wrapTtlSeconds">,
  found: FoundRoute<TokenRoute> | null,
): Promise<AccessRequest> {
  const { operation, data, wrapTtlSeconds } = request;
  const { route = null, mountPath = request.path } = found ?? {};
  const alternatePath = (await route?.alternatePath?.(context, request.path)) ?? null;
  const mount = request.path.slice(0, request.path.length - mountPath.length);
  const path = mount + (route?.canonicalPath?.(mountPath, data) ?? mountPath);
  return {
    operation: operation === "update" && route?.createsOrUpdates ? "create_or_update" : operation,
    path: isListing(operation) ? `${path}/` : path,
    ...(alternatePath !== null && { alternatePath }),
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
}
