import type { AuthMethod } from "../../auth/kinds.ts";
import { showRoute } from "../../auth/record-routes.ts";
import {
  type CallContext,
  mountOf,
  type Route,
  tokenRoute,
  withParameters,
  withPolicyPaths,
} from "../../auth/route.ts";
import { DONE_OR_WARNED } from "../../auth/route-description.ts";
import { renewTerms } from "../../auth/token-settings.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { type CallAttempt, changedOnce } from "../../base/lost-call-retry.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { ok, refuse } from "../../base/result.ts";
import { warnedReply } from "../../wire/reply.ts";
import { trustedJwt } from "../leaked-jwt.ts";
import { namedRole } from "../role-name.ts";
import { canonicalRolePath, roleRoutes } from "../role-routes.ts";
import { issuerProblem } from "./claim-checks.ts";
import { CONFIG_FIELDS, CONFIG_VIEW, readConfig } from "./config.ts";
import { explained } from "./issuer-problem.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { fetchKeys } from "./key-set-cache.ts";
import { JWT_LOGIN_ROUTES } from "./login.ts";
import { sealClientSecret } from "./oidc/client-secret.ts";
import { BROWSER_ROUTES } from "./oidc/routes.ts";
import { JWT_ROLE_FIELDS, JWT_ROLE_VIEW, jwtRoleProblem } from "./role.ts";

const JWT_ROUTES: readonly Route[] = withParameters(
  { name: "The name of the role" },
  withPolicyPaths({ canonicalPath: canonicalRolePath }, [
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
        const { env, installation, fields, prepared } = context;
        const { config, secret } = prepared;
        const remote = config.publicKeys.length === 0;
        const keys = remote ? await fetchKeys(config, privateHosts(env)) : ok([]);
        const problem = keys.ok ? null : await explained(keys.error);
        if (!keys.ok && problem !== null && !fields.skip_jwks_validation) return refuse(problem, keys.error.text);
        const sealed = secret && (await sealClientSecret(installation.keys, mountOf(context), config, secret));
        const write = (attempt?: CallAttempt) => jwtAuthOf(context).writeConfig(config, sealed, attempt);
        const written = await changedOnce(env, write);
        return written.ok ? ok(warnedReply(problem === null ? [] : [problem])) : written;
      },
    }),

    ...roleRoutes({
      noun: "role",
      fields: JWT_ROLE_FIELDS,
      view: JWT_ROLE_VIEW,
      problem: jwtRoleProblem,
      objectAt: jwtAuthAt,
    }),
    ...JWT_LOGIN_ROUTES,
    ...BROWSER_ROUTES,
  ]),
);

function jwtAuthOf(context: CallContext) {
  return jwtAuthAt(context.env, mountOf(context));
}

/**
 * Logins with a token of another issuer, as CI jobs, service accounts of Kubernetes and access proxies have, and logins
 * of people through a browser at their identity provider.
 */
export const JWT_METHOD: AuthMethod = {
  type: "jwt",
  otherType: "oidc",
  routes: JWT_ROUTES,
  /** Without its role a token can't be renewed. */
  async renew({ env, mount, token, internal }) {
    const roleName = internal.role ?? "";
    const role = await jwtAuthAt(env, mount).readRole(roleName);
    if (!role) return refuse(`role ${roleName} does not exist during renewal`);
    return ok(renewTerms(role.token, token));
  },
  async roleOfLogin(env, mount, data) {
    const named = namedRole(data);
    return named === "" ? ((await jwtAuthAt(env, mount).readConfig())?.defaultRole ?? "") : (named ?? "");
  },
  recognise: ({ env, mount, text }) =>
    trustedJwt(text, jwtAuthAt(env, mount), (config, iss) => issuerProblem(config, { iss }) === null),
  hasProvider: async (env, mount) => (await jwtAuthAt(env, mount).readConfig())?.clientId !== undefined,
  rolesGiving: (env, mount, policy) => jwtAuthAt(env, mount).rolesGiving(policy),
  objects: { JwtAuth: { in: (env) => env.JWT_AUTH, names: mountNames } },
  erase: (env, mount) => jwtAuthAt(env, mount).erase(),
};
