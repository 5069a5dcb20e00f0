import { env } from "cloudflare:workers";
import { app } from "./app/app.ts";
import { hourly } from "./app/cron.ts";
import { deploymentOf } from "./app/deployments.ts";
import { KINDS } from "./app/registry.ts";
import type { Env } from "./env.ts";

// The runtime gives this `env` to every request, object and entrypoint of the isolate.
Object.assign(env, { deployment: deploymentOf(env as Env), kinds: KINDS });

export type * from "../client/types.ts";
export { CronTrigger } from "./app/cron.ts";
export { AuditDirectory } from "./audit/directory/audit-directory.ts";
export { AuditShard } from "./audit/shard/audit-shard.ts";
export { BackupRuns } from "./backup/bucket/backup-runs.ts";
export { Identity } from "./identity/directory/identity.ts";
export { EntityShard } from "./identity/shard/entity-shard.ts";
export { OidcIssuer } from "./issuer/oidc-issuer.ts";
export { LeaseWalk } from "./lease/prefix-revocation.ts";
export { AccessorShard } from "./listing/accessor-shard.ts";
export { TokenRevocations } from "./listing/inventory/revocation-jobs.ts";
export { AppRoleAuth } from "./methods/approle/app-role-auth.ts";
export { AppRoleSecretIds } from "./methods/approle/app-role-secret-ids.ts";
export { CloudLookups } from "./methods/aws/clients/batched-lookups.ts";
export { CloudAccessList } from "./methods/aws/mount/access-list.ts";
export { CloudAuth } from "./methods/aws/mount/cloud-auth.ts";
export { JwtAuth } from "./methods/jwt/jwt-auth.ts";
export { KubernetesAuth } from "./methods/kubernetes/kubernetes-auth.ts";
export { LeaseAuthority } from "./rpc/lease-authority.ts";
export { TokenAuthority } from "./rpc/token-authority.ts";
export { System } from "./system/system.ts";
export { Organization } from "./team/organization.ts";
export { OrganizationDirectory } from "./team/organization-directory.ts";
export { Team } from "./team/team.ts";
export { ShardTidy } from "./tidy/shard-tidy.ts";
export { Tidy } from "./tidy/tidy.ts";
export { TokenRoles } from "./token/roles/token-roles.ts";
export { CustomIds } from "./tree/custom-ids.ts";
export { TokenTree } from "./tree/token-tree.ts";

export default {
  fetch: app.fetch,

  /** The platform's cron, once an hour (wrangler.toml). */
  scheduled: (_event: ScheduledController, env: Env): Promise<void> => hourly(env),
};
