import type { SystemEnv } from "../../system/env.ts";
import type { AppRoleAuth } from "./app-role-auth.ts";
import type { AppRoleSecretIds } from "./app-role-secret-ids.ts";

export interface AppRoleEnv extends SystemEnv {
  readonly APP_ROLE_AUTH: DurableObjectNamespace<AppRoleAuth>;
  readonly APP_ROLE_SECRET_IDS: DurableObjectNamespace<AppRoleSecretIds>;
}
