import { CUBBYHOLE_ROUTES } from "../api/cubbyhole.ts";
import { IDENTITY_ROUTES } from "../api/identity/routes.ts";
import { AUDIT_ROUTES } from "../api/sys/audit.ts";
import { CAPABILITY_ROUTES } from "../api/sys/capabilities.ts";
import { GENERATE_ROOT_ROUTES } from "../api/sys/generate-root.ts";
import { KEY_ROUTES } from "../api/sys/keys.ts";
import { LEASE_ROUTES } from "../api/sys/leases/routes.ts";
import { METRICS_ROUTES } from "../api/sys/metrics/routes.ts";
import { REMOUNT_ROUTES } from "../api/sys/mounts/remount.ts";
import { MOUNT_ROUTES } from "../api/sys/mounts/routes.ts";
import { POLICY_ROUTES } from "../api/sys/policies/routes.ts";
import { QUOTA_ROUTES } from "../api/sys/quotas.ts";
import { REVOCATION_ROUTES } from "../api/sys/revocations.ts";
import { STATUS_ROUTES } from "../api/sys/status/routes.ts";
import { INVENTORY_ROUTES } from "../api/sys/tokens/routes.ts";
import { UI_ROUTES } from "../api/sys/ui.ts";
import { WRAPPING_ROUTES } from "../api/sys/wrapping.ts";
import { DISCOVERY_ROUTES } from "../api/team/discovery.ts";
import { TEAM_ROUTES } from "../api/team/routes.ts";
import { TOKEN_ROUTES } from "../api/token/routes.ts";
import type { LoginRoute, OpenRoute, Route, TokenRoute } from "../auth/route.ts";
import type { Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { AUTH_METHODS } from "../methods/registry.ts";
import type { Installation } from "../system/installation.ts";
import type { GroveRequest } from "../wire/request.ts";
import { type Help, helpOf } from "./help.ts";
import { openApiRoutes, type RoutesByPlace } from "./openapi/routes.ts";
import { RouteTable } from "./route-table.ts";

/** A route of the service for one request. */
export interface ResolvedRoute<R extends Route> {
  readonly route: R;
  readonly params: Readonly<Record<string, string>>;
  /** The part of the path below the mount. */
  readonly mountPath: string;
  /** The full path with names in the place of parameters. */
  readonly pattern: string;
}

/** Routes at fixed places, by full path. */
export const FIXED_ROUTES: readonly Route[] = [
  ...STATUS_ROUTES,
  ...DISCOVERY_ROUTES,
  ...KEY_ROUTES,
  ...GENERATE_ROOT_ROUTES,
  ...POLICY_ROUTES,
  ...MOUNT_ROUTES,
  ...REMOUNT_ROUTES,
  ...QUOTA_ROUTES,
  ...AUDIT_ROUTES,
  ...LEASE_ROUTES,
  ...INVENTORY_ROUTES,
  ...REVOCATION_ROUTES,
  ...CAPABILITY_ROUTES,
  ...UI_ROUTES,
  ...WRAPPING_ROUTES,
  ...IDENTITY_ROUTES,
  ...METRICS_ROUTES,
  ...CUBBYHOLE_ROUTES,
  ...openApiRoutes(() => ROUTES_BY_PLACE),
];
const FIXED = new RouteTable(FIXED_ROUTES);
/** Routes of the interface of teams, by full path. */
const TEAMS = new RouteTable(TEAM_ROUTES);
/** First segments of the fixed routes: below them an unknown path is "unsupported", elsewhere there is no mount at all. */
const FIXED_MOUNTS: ReadonlySet<string> = new Set(["sys", "identity", "cubbyhole", ".well-known"]);
/** Routes of each type of auth mount, by the path below the mount. */
const ROUTES_BY_MOUNT_TYPE: ReadonlyMap<string, readonly Route[]> = new Map([
  ["token", TOKEN_ROUTES],
  ...[...AUTH_METHODS.values()].map(({ type, routes }) => [type, routes] as const),
]);
const BY_MOUNT_TYPE: ReadonlyMap<string, RouteTable> = new Map(
  [...ROUTES_BY_MOUNT_TYPE].map(([type, routes]) => [type, new RouteTable(routes)]),
);

/** Everything that is served, for what describes it. */
export const ROUTES_BY_PLACE: RoutesByPlace = {
  fixed: FIXED_ROUTES,
  teams: TEAM_ROUTES,
  byMountType: ROUTES_BY_MOUNT_TYPE,
};

/** The paths below a mount of each type where callers log in. They are plain: no login has a parameter in its path. */
const LOGIN_PATHS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...AUTH_METHODS.values()].map(({ type, routes }) => [
    type,
    new Set(routes.filter(({ access }) => access === "login").map(({ path }) => path)),
  ]),
);

/** The paths below a mount of each type that count as another one, with that. */
const COUNTED_PATHS: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [...AUTH_METHODS.values()].map(({ type, routes }) => [
    type,
    new Map(
      routes.flatMap((route) => (route.access === "token" && route.countsAs ? [[route.path, route.countsAs]] : [])),
    ),
  ]),
);

/** The open endpoint that serves the request, or null. Needs nothing but the path: it works while the service is sealed. */
export function resolveOpenRoute(env: Env, request: GroveRequest): ResolvedRoute<OpenRoute> | null {
  const match = tableOf(request)?.match(request.operation, request.path);
  const route = match?.found === "route" ? openForm(env, match.route) : null;
  if (match?.found !== "route" || !route) return null;
  return { route, params: match.params, mountPath: request.path, pattern: match.route.path };
}

/** A route as one that needs no token, where it or the deployment says so. */
function openForm(env: Env, route: Route): OpenRoute | null {
  if (route.access === "open") return route;
  const handle = route.access === "token" ? route.openHandler?.(env) : null;
  if (!handle) return null;
  const { operations, path, description } = route;
  return { access: "open", operations, path, description, handle };
}

/** The endpoint that serves the request, or the 404 or 405 that says why there is none. */
export function resolveRoute(
  installation: Installation,
  request: GroveRequest,
): Result<ResolvedRoute<LoginRoute | TokenRoute>, Failure> {
  const { operation, path } = request;
  const mount = path.startsWith("auth/") ? installation.mountServing(path.slice("auth/".length)) : undefined;
  const table = mount ? BY_MOUNT_TYPE.get(mount.type) : tableOf(request);
  if (!table) return err(mount ? { code: "unsupported_path" } : { code: "no_route", path });
  const prefix = mount ? `auth/${mount.path}` : "";
  const mountPath = path.slice(prefix.length);
  const match = table.match(operation, mountPath);
  if (match.found === "other_operation") return err({ code: "unsupported_operation" });
  if (match.found === "nothing" || match.route.access === "open") return err({ code: "unsupported_path" });
  return ok({ route: match.route, params: match.params, mountPath, pattern: prefix + match.route.path });
}

/** True when callers log in by an update of `mountPath` at a mount of this type. */
export function isLoginAt(type: string, mountPath: string): boolean {
  return LOGIN_PATHS.get(type)?.has(mountPath) ?? false;
}

/** The path below a mount of this type whose quotas count an update of `mountPath`. */
export function countedPathAt(type: string, mountPath: string): string {
  return COUNTED_PATHS.get(type)?.get(mountPath) ?? mountPath;
}

/** What `path-help` tells of the request's path, or the 404 that says that nothing is there. */
export function resolveHelp(installation: Installation, request: GroveRequest, version: string): Result<Help, Failure> {
  const { path } = request;
  const mount = path.startsWith("auth/") ? installation.mountServing(`${path.slice("auth/".length)}/`) : undefined;
  const table = mount ? BY_MOUNT_TYPE.get(mount.type) : tableOf(request);
  if (!table) return err({ code: "no_route", path });
  const idPrefix = mount ? `${mount.type}-` : "";
  const help = helpOf(table, mount ? path.slice(`auth/${mount.path}`.length) : path, idPrefix, version);
  return help === null ? err({ code: "unsupported_path" }) : ok(help);
}

/** The table of a path that no mount of the installation serves, or null. */
function tableOf({ dialect, path }: GroveRequest): RouteTable | null {
  if (dialect === "json-api") return TEAMS;
  const end = path.indexOf("/");
  return FIXED_MOUNTS.has(end === -1 ? path : path.slice(0, end)) ? FIXED : null;
}
