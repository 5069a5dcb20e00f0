import { app } from "./http/app.ts";

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
export { TokenTree } from "./token/tree.ts";

export default { fetch: app.fetch };
