import { CUBBYHOLE_ROUTES } from "../../src/api/cubbyhole.ts";
import { IDENTITY_ROUTES } from "../../src/api/identity/routes.ts";
import { AUDIT_ROUTES } from "../../src/api/sys/audit.ts";
import { CAPABILITY_ROUTES } from "../../src/api/sys/capabilities.ts";
import { LEASE_ROUTES } from "../../src/api/sys/leases.ts";
import { MOUNT_ROUTES } from "../../src/api/sys/mounts.ts";
import { POLICY_ROUTES } from "../../src/api/sys/policies.ts";
import { REMOUNT_ROUTES } from "../../src/api/sys/remount.ts";
import { STATUS_ROUTES } from "../../src/api/sys/status.ts";
import { UI_ROUTES } from "../../src/api/sys/ui.ts";
import { WRAPPING_ROUTES } from "../../src/api/sys/wrapping.ts";
import { TEAM_ROUTES } from "../../src/api/team/routes.ts";
import { TOKEN_ROUTES } from "../../src/api/token/routes.ts";
import { CLOUD_ROUTES } from "../../src/methods/cloud/routes.ts";

/** Every endpoint of the service. */
export const ROUTES = [
  ...CLOUD_ROUTES,
  ...CUBBYHOLE_ROUTES,
  ...IDENTITY_ROUTES,
  ...LEASE_ROUTES,
  ...AUDIT_ROUTES,
  ...CAPABILITY_ROUTES,
  ...MOUNT_ROUTES,
  ...REMOUNT_ROUTES,
  ...POLICY_ROUTES,
  ...STATUS_ROUTES,
  ...UI_ROUTES,
  ...TEAM_ROUTES,
  ...TOKEN_ROUTES,
  ...WRAPPING_ROUTES,
];
