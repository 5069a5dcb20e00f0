import { CUBBYHOLE_ROUTES } from "../api/cubbyhole.ts";
import { ENTITY_ROUTES } from "../api/identity/entities.ts";
import { GROUP_ROUTES } from "../api/identity/groups.ts";
import { OIDC_ROUTES } from "../api/identity/oidc.ts";
import { AUDIT_ROUTES } from "../api/sys/audit.ts";
import { AUDIT_ARCHIVE_ROUTES } from "../api/sys/audit-archive.ts";
import { BACKUP_ROUTES } from "../api/sys/backups.ts";
import { CAPABILITY_ROUTES } from "../api/sys/capabilities.ts";
import { EVENT_ROUTES } from "../api/sys/events/events.ts";
import { EXPLAIN_RULES_ROUTE } from "../api/sys/explain-rules.ts";
import { GENERATE_ROOT_ROUTES } from "../api/sys/generate-root.ts";
import { DOCTOR_ROUTE } from "../api/sys/health/doctor.ts";
import { HISTORY_ROUTE } from "../api/sys/health/metrics-history.ts";
import { INIT_ROUTES } from "../api/sys/init.ts";
import { KEY_ROUTES } from "../api/sys/keys.ts";
import { LEASE_ROUTES } from "../api/sys/leases/leases.ts";
import { LEASE_REVOCATION_ROUTES } from "../api/sys/leases/revoke.ts";
import { METRICS_ROUTES } from "../api/sys/metrics.ts";
import { MOUNT_ROUTES } from "../api/sys/mounts/mounts.ts";
import { REMOUNT_ROUTES } from "../api/sys/mounts/remount.ts";
import { policyRoutes } from "../api/sys/policies.ts";
import { QUOTA_ROUTES } from "../api/sys/quotas.ts";
import { SETUP_ROUTES } from "../api/sys/setup.ts";
import { STATUS_ROUTES } from "../api/sys/status.ts";
import { ENDED_TOKEN_ROUTES } from "../api/sys/tokens/ended.ts";
import { FIND_ROUTE } from "../api/sys/tokens/find.ts";
import { INVENTORY_ROUTES } from "../api/sys/tokens/inventory.ts";
import { TOKEN_REVOCATION_ROUTES } from "../api/sys/tokens/revoke.ts";
import { TOKEN_SUMMARY_ROUTES } from "../api/sys/tokens/summary.ts";
import { UI_ROUTES } from "../api/sys/ui.ts";
import { WRAPPING_ROUTES } from "../api/sys/wrapping.ts";
import { CREATE_ROUTES } from "../api/token/create.ts";
import { LOOKUP_ROUTES } from "../api/token/lookup.ts";
import { RENEW_ROUTES, REVOKE_ROUTES } from "../api/token/renew-and-revoke.ts";
import { TOKEN_ROLE_ROUTES } from "../api/token/roles.ts";
import { TIDY_ROUTES } from "../api/token/tidy.ts";
import { withPolicyPaths } from "../auth/route.ts";
import { VAULT } from "../wire/envelope.ts";
import { explainRoutes } from "./explain.ts";
import { explainPolicyRoute } from "./explain-policy.ts";
import { openApiRoute } from "./openapi/document.ts";
import { KINDS } from "./registry.ts";
import { RouteTable, type RouteTables } from "./route-tables.ts";

const FIXED = new RouteTable([
  ...INIT_ROUTES,
  ...SETUP_ROUTES,
  ...STATUS_ROUTES,
  ...KEY_ROUTES,
  ...GENERATE_ROOT_ROUTES,
  ...policyRoutes(KINDS.credentials.flatMap(({ holders }) => holders)),
  ...MOUNT_ROUTES,
  ...REMOUNT_ROUTES,
  ...QUOTA_ROUTES,
  ...AUDIT_ARCHIVE_ROUTES,
  // Before the devices, which can have any name.
  ...EVENT_ROUTES,
  ...AUDIT_ROUTES,
  ...BACKUP_ROUTES,
  ...LEASE_ROUTES,
  ...LEASE_REVOCATION_ROUTES,
  ...TOKEN_SUMMARY_ROUTES,
  ...TOKEN_REVOCATION_ROUTES,
  ...ENDED_TOKEN_ROUTES,
  // After the others of sys/tokens, whose paths could be accessors.
  ...INVENTORY_ROUTES,
  FIND_ROUTE,
  ...CAPABILITY_ROUTES,
  ...UI_ROUTES,
  ...WRAPPING_ROUTES,
  ...ENTITY_ROUTES,
  ...GROUP_ROUTES,
  ...OIDC_ROUTES,
  ...METRICS_ROUTES,
  HISTORY_ROUTE,
  DOCTOR_ROUTE,
  ...CUBBYHOLE_ROUTES,
  openApiRoute(() => TABLES),
  ...explainRoutes(() => TABLES),
  EXPLAIN_RULES_ROUTE,
  explainPolicyRoute(() => TABLES),
]);
const APIS = KINDS.credentials.flatMap(({ apis }) =>
  apis.map(({ dialect, routes, otherPaths }) => {
    const spelled = otherPaths ? withPolicyPaths({ otherPaths }, routes) : routes;
    return new RouteTable(spelled, dialect);
  }),
);
const TOKENS = new RouteTable(
  [...CREATE_ROUTES, ...LOOKUP_ROUTES, ...RENEW_ROUTES, ...REVOKE_ROUTES, ...TOKEN_ROLE_ROUTES, ...TIDY_ROUTES],
  VAULT,
  "token-",
);

const METHOD_TABLES = new Map(
  [...new Set(KINDS.methods.values())].map((one) => [one, new RouteTable(one.routes, VAULT, `${one.type}-`)] as const),
);

export const TABLES: RouteTables = {
  fixed: FIXED,
  apis: APIS,
  byMountType: new Map([
    ["token", TOKENS],
    ...[...KINDS.methods].flatMap(([type, method]) => {
      const table = METHOD_TABLES.get(method);
      return table ? [[type, table] as const] : [];
    }),
  ]),
  byFirstSegment: new Map(
    [FIXED, ...APIS].flatMap((table) => table.routes.map(({ path }) => [path.split("/", 1)[0] ?? "", table] as const)),
  ),
};
