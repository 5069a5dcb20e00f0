import type { AuthMethod } from "../../auth/kinds.ts";
import { withParameters, withPolicyPaths } from "../../auth/route.ts";
import { renewTerms } from "../../auth/token-settings.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { nameKey } from "../../base/case-folding.ts";
import { ok, refuse } from "../../base/result.ts";
import { text } from "../../wire/fields.ts";
import { appRoleAuthAt } from "./app-role-auth.ts";
import { findLoginId } from "./leaked-secret-id.ts";
import { APP_ROLE_LOGIN_ROUTES } from "./login.ts";
import { MAX_ROLE_ID } from "./role.ts";
import { roleWithId } from "./role-copies.ts";
import { APP_ROLE_ROUTES } from "./role-routes.ts";
import { SECRET_ID_ROUTES } from "./secret-id-routes.ts";
import { secretIdShardNames, secretIdShardsOf } from "./secret-id-shards.ts";

/** Rules of policies apply to every spelling of the name of a role. */
function canonicalPath(path: string): string {
  return path.replace(/^role\/[^/]+/, nameKey);
}

const ROLE_ID = text();

/** Logins of machines by the id of a role and a secret-id. */
export const APP_ROLE_METHOD: AuthMethod = {
  type: "approle",
  routes: withParameters(
    { role_name: "The name of the role" },
    withPolicyPaths({ canonicalPath }, [...APP_ROLE_ROUTES, ...SECRET_ID_ROUTES, ...APP_ROLE_LOGIN_ROUTES]),
  ),
  /** Without its role a token can't be renewed. Another role of the same name is not its role. */
  async renew({ env, mount, token, internal }) {
    const { role: name = "", role_key: key = "" } = internal;
    const role = await appRoleAuthAt(env, mount).readRole(name);
    if (role?.id !== key) return refuse(`role ${name} does not exist during renewal`);
    return ok(renewTerms(role.token, token));
  },
  async roleOfLogin(env, mount, { role_id: sentId }) {
    const read = ROLE_ID.read(sentId ?? undefined);
    const roleId = read.ok ? read.value.trim() : "";
    if (roleId === "" || roleId.length > MAX_ROLE_ID) return "";
    return (await roleWithId(env, mount, roleId))?.name ?? "";
  },
  recognise: findLoginId,
  rolesGiving: (env, mount, policy) => appRoleAuthAt(env, mount).rolesGiving(policy),
  objects: {
    // Backed up before the secret-ids: of a role that is deleted meanwhile, a restore has the role, or the record that
    // its tokens end.
    AppRoleAuth: { in: (env) => env.APP_ROLE_AUTH, names: mountNames },
    AppRoleSecretIds: {
      in: (env) => env.APP_ROLE_SECRET_IDS,
      names: (_, mounts) =>
        mounts.filter(({ type }) => type === "approle").flatMap(({ uuid }) => secretIdShardNames(uuid)),
    },
  },
  async erase(env, mount) {
    const objects = [appRoleAuthAt(env, mount), ...secretIdShardsOf(env, mount)];
    await Promise.all(objects.map((object) => object.erase()));
  },
};
