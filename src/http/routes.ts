import { speaking } from "../cloud/border.ts";
import { renewCloudLogin } from "../cloud/login/renewal.ts";
import { CLOUD_ROUTES } from "../cloud/routes.ts";
import { CUBBYHOLE_ROUTES } from "../cubbyhole/routes.ts";
import type { Failure } from "../errors.ts";
import { IDENTITY_ROUTES } from "../identity/routes.ts";
import { LEASE_ROUTES } from "../lease/routes.ts";
import { err, ok, type Result } from "../result.ts";
import { AUDIT_ROUTES } from "../sys/audit-routes.ts";
import { CAPABILITY_ROUTES } from "../sys/capability-routes.ts";
import type { Installation } from "../sys/installation.ts";
import { MOUNT_ROUTES } from "../sys/mount-routes.ts";
import { POLICY_ROUTES } from "../sys/policy-routes.ts";
import { STATUS_ROUTES } from "../sys/status-routes.ts";
import { UI_ROUTES } from "../sys/ui-routes.ts";
import { TEAM_ROUTES } from "../team/routes.ts";
import { LOGIN_RENEWALS } from "../token/login-renewal.ts";
import { TOKEN_ROUTES } from "../token/routes.ts";
import { WRAPPING_ROUTES } from "../wrapping/routes.ts";
import type { GroveRequest } from "./request.ts";
import { type LoginRoute, type OpenRoute, type Route, RouteTable, type TokenRoute } from "./route.ts";

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
const FIXED = new RouteTable([
  ...STATUS_ROUTES,
  ...POLICY_ROUTES,
  ...MOUNT_ROUTES,
  ...AUDIT_ROUTES,
  ...LEASE_ROUTES,
  ...CAPABILITY_ROUTES,
  ...UI_ROUTES,
  ...WRAPPING_ROUTES,
  ...IDENTITY_ROUTES,
  ...CUBBYHOLE_ROUTES,
]);
/** Routes of the interface of teams, by full path. */
const TEAMS = new RouteTable(TEAM_ROUTES);
/** First segments of the fixed routes: below them an unknown path is "unsupported", elsewhere there is no mount at all. */
const FIXED_MOUNTS = ["sys/", "identity/", "cubbyhole/", ".well-known/"];
/** Routes of each type of auth mount, by the path below the mount. */
const BY_MOUNT_TYPE: Readonly<Record<string, RouteTable>> = {
  token: new RouteTable(TOKEN_ROUTES),
  cloud: new RouteTable(speaking("cloud", CLOUD_ROUTES)),
  aws: new RouteTable(speaking("aws", CLOUD_ROUTES)),
};

for (const type of ["cloud", "aws"]) LOGIN_RENEWALS.set(type, renewCloudLogin);

/** The open endpoint that serves the request, or null. Needs nothing but the path: it works while the service is sealed. */
export function resolveOpenRoute(request: GroveRequest): ResolvedRoute<OpenRoute> | null {
  const match = tableOf(request)?.match(request.operation, request.path);
  if (match?.found !== "route" || match.route.access !== "open") return null;
  return { route: match.route, params: match.params, mountPath: request.path, pattern: match.route.path };
}

/** The endpoint that serves the request, or the 404 or 405 that says why there is none. */
export function resolveRoute(
  installation: Installation,
  request: GroveRequest,
): Result<ResolvedRoute<TokenRoute<never, never> | LoginRoute<never>>, Failure> {
  const { operation, path } = request;
  const mount = path.startsWith("auth/") ? installation.mountServing(path.slice("auth/".length)) : undefined;
  const table = mount ? BY_MOUNT_TYPE[mount.type] : tableOf(request);
  if (!table) return err(mount ? { code: "unsupported_path" } : { code: "no_route", path });
  const prefix = mount ? `auth/${mount.path}` : "";
  const mountPath = path.slice(prefix.length);
  const match = table.match(operation, mountPath);
  if (match.found === "other_operation") return err({ code: "unsupported_operation" });
  if (match.found === "nothing" || match.route.access === "open") return err({ code: "unsupported_path" });
  return ok({ route: match.route, params: match.params, mountPath, pattern: prefix + match.route.path });
}

/** The table of a path that no mount of the installation serves, or null. */
function tableOf({ dialect, path }: GroveRequest): RouteTable | null {
  if (dialect === "json-api") return TEAMS;
  return FIXED_MOUNTS.some((fixed) => `${path}/`.startsWith(fixed)) ? FIXED : null;
}
