import { app } from "./http/app.ts";

export { System } from "./sys/system.ts";
export { AccessorShard } from "./token/accessor-shard.ts";
export { CustomIds } from "./token/custom-ids.ts";
export { TokenRoles } from "./token/roles/token-roles.ts";
export { TokenTree } from "./token/tree.ts";

export default { fetch: app.fetch };
