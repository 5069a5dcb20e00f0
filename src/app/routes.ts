import { CUBBYHOLE_ROUTES } from "../api/cubbyhole.ts";
import { ENTITY_ROUTES } from "../api/identity/entities.ts";
import { GROUP_ROUTES } from "../api/identity/groups.ts";
import { OIDC_ROUTES } from "../api/identity/oidc.ts";
import { TEAM_PLACES } from "../api/json-api/dialect.ts";
import { AUDIT_ROUTES } from "../api/sys/audit.ts";
import { BACKUP_ROUTES, RESTORE_ROUTES, STORED_BACKUP_ROUTES } from "../api/sys/backups.ts";
import { CAPABILITY_ROUTES } from "../api/sys/capabilities.ts";
import { GENERATE_ROOT_ROUTES } from "../api/sys/generate-root.ts";
import { INIT_ROUTES } from "../api/sys/init.ts";
import { KEY_ROUTES } from "../api/sys/keys.ts";
import { LEASE_ROUTES } from "../api/sys/leases/leases.ts";
import { LEASE_REVOCATION_ROUTES } from "../api/sys/leases/revoke.ts";
import { METRICS_ROUTES } from "../api/sys/metrics.ts";
import { MOUNT_ROUTES } from "../api/sys/mounts/mounts.ts";
import { REMOUNT_ROUTES } from "../api/sys/mounts/remount.ts";
import { POLICY_ROUTES } from "../api/sys/policies.ts";
import { QUOTA_ROUTES } from "../api/sys/quotas.ts";
import { HEALTH_ROUTES, STATE_ROUTES } from "../api/sys/status.ts";
import { INVENTORY_ROUTES } from "../api/sys/tokens/routes.ts";
import { UI_ROUTES } from "../api/sys/ui.ts";
import { WRAPPING_ROUTES } from "../api/sys/wrapping.ts";
import { DISCOVERY_ROUTES, TEAM_ROUTES } from "../api/team/routes.ts";
import { TOKEN_ROUTES } from "../api/token/routes.ts";
import type { Route } from "../auth/route.ts";
import { AUTH_METHODS } from "../methods/registry.ts";
import { explainRoutes } from "./explain/routes.ts";
import { openApiRoutes, type RoutesByPlace } from "./openapi/routes.ts";
import { RouteTable, type Tables } from "./places.ts";

/** Routes with full paths. */
export const FIXED_ROUTES: readonly Route[] = [
  ...INIT_ROUTES,
  ...HEALTH_ROUTES,
  ...STATE_ROUTES,
  ...DISCOVERY_ROUTES,
  ...KEY_ROUTES,
  ...GENERATE_ROOT_ROUTES,
  ...POLICY_ROUTES,
  ...MOUNT_ROUTES,
  ...REMOUNT_ROUTES,
  ...QUOTA_ROUTES,
  ...AUDIT_ROUTES,
  ...BACKUP_ROUTES,
  ...RESTORE_ROUTES,
  ...STORED_BACKUP_ROUTES,
  ...LEASE_ROUTES,
  ...LEASE_REVOCATION_ROUTES,
  ...INVENTORY_ROUTES,
  ...CAPABILITY_ROUTES,
  ...UI_ROUTES,
  ...WRAPPING_ROUTES,
  ...ENTITY_ROUTES,
  ...GROUP_ROUTES,
  ...OIDC_ROUTES,
  ...METRICS_ROUTES,
  ...CUBBYHOLE_ROUTES,
  ...openApiRoutes(() => ROUTES_BY_PLACE),
  ...explainRoutes(() => TABLES),
];
/** Routes of each type of auth mount, by the path below the mount. */
const ROUTES_BY_MOUNT_TYPE: ReadonlyMap<string, readonly Route[]> = new Map([
  ["token", TOKEN_ROUTES],
  ...[...AUTH_METHODS.values()].map(({ type, routes }) => [type, routes] as const),
]);
const BY_MOUNT_TYPE: ReadonlyMap<string, RouteTable> = new Map(
  [...ROUTES_BY_MOUNT_TYPE].map(([type, routes]) => [type, new RouteTable(routes)]),
);
const NO_ROUTES = new RouteTable([]);

const FIXED_TABLE = new RouteTable(FIXED_ROUTES);
const TEAM_TABLE = new RouteTable(TEAM_ROUTES);

/** The tables of all routes. */
export const TABLES: Tables = {
  byPlace: new Map([
    ...[...TEAM_PLACES].map((place) => [place, TEAM_TABLE] as const),
    ...["sys", "identity", "cubbyhole"].map((place) => [place, FIXED_TABLE] as const),
    [".well-known", new RouteTable(DISCOVERY_ROUTES)],
  ]),
  ofMount: (type) => BY_MOUNT_TYPE.get(type) ?? NO_ROUTES,
};

/** All routes, for the OpenAPI document. */
export const ROUTES_BY_PLACE: RoutesByPlace = {
  fixed: FIXED_ROUTES,
  teams: TEAM_ROUTES,
  byMountType: ROUTES_BY_MOUNT_TYPE,
};
