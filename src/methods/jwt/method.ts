import type { AuthMethod } from "../../auth/kinds.ts";
import { listRoute, removeRoute, showRoute } from "../../auth/record-routes.ts";
import {
  type CallContext,
  mountOf,
  type Route,
  tokenRoute,
  withParameters,
  withPolicyPaths,
} from "../../auth/route.ts";
import { DONE_OR_WARNED } from "../../auth/route-description.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { nameKey } from "../../base/name.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { ok, okUnless, refuse } from "../../base/result.ts";
import { mountTtl } from "../../system/mount.ts";
import { namedSegment } from "../../wire/path-name.ts";
import { warnedReply } from "../../wire/reply.ts";
import { isRoleName, namedRole } from "../roles.ts";
import { CONFIG_FIELDS, CONFIG_VIEW, readConfig } from "./config.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { fetchKeys } from "./keys.ts";
import { JWT_LOGIN_ROUTES } from "./login.ts";
import { JWT_ROLE_FIELDS, JWT_ROLE_VIEW, jwtRoleProblem } from "./role.ts";

const ROLE_PATH = `role/${namedSegment("name")}`;

const JWT_ROUTES: readonly Route[] = withParameters(
  { name: "The name of the role" },
  // A rule of a policy applies to every spelling of a role.
  withPolicyPaths({ canonicalPath: (path) => path.replace(/^role\/[^/]+$/, (role) => role.toLowerCase()) }, [
    showRoute("config", {
      summary: "Shows whose tokens the mount trusts.",
      operationId: "read-configuration",
      view: CONFIG_VIEW,
      read: (context) => jwtAuthOf(context).readConfig(),
    }),
    tokenRoute("update", "config", {
      summary: "Sets whose tokens the mount trusts.",
      operationId: "configure",
      answers: DONE_OR_WARNED,
      input: CONFIG_FIELDS,
      prepare: async ({ env, fields }) => readConfig(fields, privateHosts(env), env),
      handle: async (context) => {
        const { env, fields, prepared: config } = context;
        const remote = config.publicKeys.length === 0;
        const keys = remote ? await fetchKeys(config, privateHosts(env)) : ok([]);
        if (!keys.ok && !fields.skip_jwks_validation) return refuse(keys.error);
        await jwtAuthOf(context).writeConfig(config);
        return ok(warnedReply(keys.ok ? [] : [keys.error]));
      },
    }),

    listRoute("role", {
      summary: "Lists the roles.",
      operationId: "list-roles",
      names: (context, after, limit) => jwtAuthOf(context).listRoles(after, limit),
    }),
    showRoute(ROLE_PATH, {
      summary: "Shows a role.",
      operationId: "read-role",
      view: JWT_ROLE_VIEW,
      read: (context) => jwtAuthOf(context).readRole(nameOf(context)),
    }),
    tokenRoute("update", ROLE_PATH, {
      summary: "Makes or changes a role; fields that are not sent stay as they are.",
      operationId: "write-role",
      answers: DONE_OR_WARNED,
      input: JWT_ROLE_FIELDS,
      prepare: async ({ params, fields }) => {
        const isLong = !isRoleName(nameOf({ params }));
        return okUnless(isLong ? "the name of the role is too long" : jwtRoleProblem(fields), null);
      },
      handle: async (context) => {
        const name = nameOf(context);
        const warnings = await jwtAuthOf(context).writeRole(name, context.fields, mountTtl(mountOf(context)));
        return warnings.ok ? ok(warnedReply(warnings.value)) : warnings;
      },
    }),
    removeRoute(ROLE_PATH, {
      summary: "Deletes a role.",
      operationId: "delete-role",
      remove: (context) => jwtAuthOf(context).deleteRole(nameOf(context)),
    }),

    ...JWT_LOGIN_ROUTES,
  ]),
);

function jwtAuthOf(context: CallContext) {
  return jwtAuthAt(context.env, mountOf(context));
}

function nameOf({ params }: Pick<CallContext, "params">): string {
  return nameKey(params.name ?? "");
}

/** Logins with a token of another issuer, as CI jobs, service accounts of Kubernetes and access proxies have. */
export const JWT_METHOD: AuthMethod = {
  type: "jwt",
  routes: JWT_ROUTES,
  /** Without its role a token can't be renewed. */
  async renew({ env, mount, token, internal }) {
    const roleName = internal.role ?? "";
    const role = await jwtAuthAt(env, mount).readRole(roleName);
    if (!role) return refuse(`role ${roleName} does not exist during renewal`);
    const { ttl, maxTtl, period } = role.token;
    return ok({ period, ttl, maxTtl, explicitMaxTtl: token.explicitMaxTtl });
  },
  async roleOfLogin(env, mount, data) {
    const named = namedRole(data);
    return named === "" ? ((await jwtAuthAt(env, mount).readConfig())?.defaultRole ?? "") : (named ?? "");
  },
  rolesGiving: (env, mount, policy) => jwtAuthAt(env, mount).rolesGiving(policy),
  objects: { JwtAuth: { in: (env) => env.JWT_AUTH, names: mountNames } },
  erase: (env, mount) => jwtAuthAt(env, mount).erase(),
};
