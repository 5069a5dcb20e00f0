import type { Env } from "./env.ts";
import { app } from "./http/app.ts";
import { loadInstallation } from "./sys/installation.ts";
import { tidyOf } from "./token/tidy/tidy.ts";

export { LeaseAuthority, type NewLease } from "./authority/lease-authority.ts";
export { TokenAuthority } from "./authority/token-authority.ts";
export type * from "./authority/types.ts";
export { CloudLookups } from "./cloud/clients/lookups.ts";
export { CloudAuth } from "./cloud/cloud-auth.ts";
export { Identity } from "./identity/identity.ts";
export { LeaseWalk } from "./lease/walk.ts";
export { System } from "./sys/system.ts";
export { OrganizationDirectory } from "./team/directory.ts";
export { Organization } from "./team/organization.ts";
export { Team } from "./team/team.ts";
export { AccessorShard } from "./token/accessor-shard.ts";
export { CustomIds } from "./token/custom-ids.ts";
export { TokenRoles } from "./token/roles/token-roles.ts";
export { Tidy } from "./token/tidy/tidy.ts";
export { TokenTree } from "./token/tree.ts";

export default {
  fetch: app.fetch,

  /** The platform's cron. Where there is none, the object's own alarm does it alone. */
  async scheduled(_event: ScheduledController, env: Env): Promise<void> {
    const installation = await loadInstallation(env);
    if (installation.ok) await tidyOf(env).keepSchedule();
  },
};
