import type { Route } from "../auth/route.ts";
import type { Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Installation } from "../system/installation.ts";
import { unservedPath } from "../wire/audit.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { AppContext } from "./context.ts";
import { type Help, helpOf } from "./help.ts";
import type { RouteTable } from "./route-table.ts";
import { tableOfMount } from "./routes.ts";

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
export function placeOfMount(installation: Installation, { operation, path }: GroveRequest): Place | null {
  const below = path.slice("auth/".length);
  const mount = installation.mountServing(operation === "help" ? `${below}/` : below);
  return mount ? { table: tableOfMount(mount.type), mount: `auth/${mount.path}`, idPrefix: `${mount.type}-` } : null;
}

/** The route at a place that serves a request, or the 404 or 405 that says why there is none. */
export function findRoute(place: Place | null, { operation, path }: GroveRequest): Result<FoundRoute, Failure> {
  if (!place) return err({ code: "no_route", path });
  const mountPath = path.slice(place.mount.length);
  const match = place.table.match(operation, mountPath);
  if (match.found === "other_operation") return err({ code: "unsupported_operation" });
  if (match.found === "nothing") return err({ code: "unsupported_path" });
  const { route, params } = match;
  return ok({ route, params, mountPath, pattern: place.mount + route.path });
}

/** What `path-help` says about a path, or the 404 that says that nothing is there. */
export function findHelp(place: Place | null, path: string, version: string): Result<Help, Failure> {
  if (!place) return err({ code: "no_route", path });
  const help = helpOf(place.table, path.slice(place.mount.length), place.idPrefix, version);
  return help === null ? err({ code: "unsupported_path" }) : ok(help);
}

/** The path of a request that no endpoint serves, for the log. */
export function unservedPathOf(c: AppContext): string {
  const { path } = c.get("head");
  // One that can't be decoded could hold a token in a spelling that nothing here knows.
  if (!path.ok) return "<malformed>";
  const loaded = c.get("installation");
  const below = loaded.ok && path.value.startsWith("auth/") ? path.value.slice("auth/".length) : null;
  const mount = loaded.ok && below !== null ? loaded.value.mountServing(below) : undefined;
  return unservedPath(path.value, mount && `auth/${mount.path}`);
}
