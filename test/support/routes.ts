import { CLOUD_ROUTES } from "../../src/cloud/routes.ts";
import { CUBBYHOLE_ROUTES } from "../../src/cubbyhole/routes.ts";
import { IDENTITY_ROUTES } from "../../src/identity/routes.ts";
import { LEASE_ROUTES } from "../../src/lease/routes.ts";
import { AUDIT_ROUTES } from "../../src/sys/audit-routes.ts";
import { CAPABILITY_ROUTES } from "../../src/sys/capability-routes.ts";
import { MOUNT_ROUTES } from "../../src/sys/mount-routes.ts";
import { POLICY_ROUTES } from "../../src/sys/policy-routes.ts";
import { STATUS_ROUTES } from "../../src/sys/status-routes.ts";
import { UI_ROUTES } from "../../src/sys/ui-routes.ts";
import { TEAM_ROUTES } from "../../src/team/routes.ts";
import { TOKEN_ROUTES } from "../../src/token/routes.ts";
import { WRAPPING_ROUTES } from "../../src/wrapping/routes.ts";

/** Every endpoint of the service. */
export const ROUTES = [
  ...CLOUD_ROUTES,
  ...CUBBYHOLE_ROUTES,
  ...IDENTITY_ROUTES,
  ...LEASE_ROUTES,
  ...AUDIT_ROUTES,
  ...CAPABILITY_ROUTES,
  ...MOUNT_ROUTES,
  ...POLICY_ROUTES,
  ...STATUS_ROUTES,
  ...UI_ROUTES,
  ...TEAM_ROUTES,
  ...TOKEN_ROUTES,
  ...WRAPPING_ROUTES,
];
