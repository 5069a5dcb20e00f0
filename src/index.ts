import { app } from "./app/app.ts";
import type { Env } from "./env.ts";
import { loadInstallation } from "./system/installation.ts";
import { tidyOf } from "./tidy/tidy.ts";

export type * from "../client/types.ts";
export { LeaseWalk } from "./app/lease-walk.ts";
export { Identity } from "./identity/identity.ts";
export { EntityShard } from "./identity/shard/entity-shard.ts";
export { OidcIssuer } from "./issuer/oidc-issuer.ts";
export { CloudAccessList } from "./methods/cloud/access-list/access-list.ts";
export { CloudLookups } from "./methods/cloud/clients/lookups.ts";
export { CloudAuth } from "./methods/cloud/cloud-auth.ts";
export { JwtAuth } from "./methods/jwt/jwt-auth.ts";
export { LeaseAuthority } from "./rpc/lease-authority.ts";
export { TokenAuthority } from "./rpc/token-authority.ts";
export { System } from "./system/system.ts";
export { OrganizationDirectory } from "./team/directory.ts";
export { Organization } from "./team/organization.ts";
export { Team } from "./team/team.ts";
export { ShardTidy } from "./tidy/shard-tidy.ts";
export { Tidy } from "./tidy/tidy.ts";
export { TokenRoles } from "./token/roles/token-roles.ts";
export { CustomIds } from "./tree/custom-ids.ts";
export { AccessorShard } from "./tree/index/accessor-shard.ts";
export { TokenRevocations } from "./tree/inventory/revocations.ts";
export { TokenTree } from "./tree/token-tree.ts";

export default {
  fetch: app.fetch,

  /** The platform's cron. Where there is none, the object's own alarm does it alone. */
  async scheduled(_event: ScheduledController, env: Env): Promise<void> {
    const installation = await loadInstallation(env);
    if (installation.ok) await tidyOf(env).keepSchedule();
  },
};
