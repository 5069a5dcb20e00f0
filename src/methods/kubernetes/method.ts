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
import { NO_CONTENT } from "../../auth/route-description.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { attempted } from "../../base/lost-call-retry.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { ok } from "../../base/result.ts";
import { EMPTY } from "../../wire/reply.ts";
import { trustedJwt } from "../leaked-jwt.ts";
import { namedRole } from "../role-name.ts";
import { canonicalRolePath, roleRoutes } from "../role-routes.ts";
import { boundIssuer, CLUSTER_FIELDS, CLUSTER_VIEW, configWarnings, readClusterConfig } from "./config.ts";
import { kubernetesAuthAt } from "./kubernetes-auth.ts";
import { KUBERNETES_LOGIN_ROUTES } from "./login.ts";
import { renewKubernetesLogin } from "./renewal.ts";
import { sealReviewer } from "./reviewer-jwt.ts";
import { KUBERNETES_ROLE_FIELDS, KUBERNETES_ROLE_VIEW, kubernetesRoleProblem } from "./role.ts";

const KUBERNETES_ROUTES: readonly Route[] = withParameters(
  { name: "The name of the role" },
  withPolicyPaths({ canonicalPath: canonicalRolePath }, [
    showRoute("config", {
      summary: "Shows the cluster of the mount, without the reviewer's token.",
      operationId: "read-auth-configuration",
      view: CLUSTER_VIEW,
      read: (context) => kubernetesAuthOf(context).readConfig(),
      warningsOf: configWarnings,
    }),
    tokenRoute("update", "config", {
      summary: "Sets the cluster of the mount; a reviewer stays while the host does.",
      operationId: "configure-auth",
      answers: NO_CONTENT,
      input: CLUSTER_FIELDS,
      prepare: async ({ env, fields }) => readClusterConfig(fields, privateHosts(env), env),
      handle: async (context) => {
        const { env, installation, fields, prepared: config } = context;
        const { token_reviewer_jwt: sent } = fields;
        const sealed = sent ? await sealReviewer(installation.keys, [mountOf(context), config.host], sent) : null;
        const sealedReviewer = sent === undefined ? undefined : sealed;
        const change = { ...config, sealedReviewer };
        await attempted(env, (attempt) => kubernetesAuthOf(context).writeConfig(change, attempt));
        return ok(EMPTY);
      },
    }),

    ...roleRoutes({
      noun: "auth-role",
      fields: KUBERNETES_ROLE_FIELDS,
      view: KUBERNETES_ROLE_VIEW,
      problem: kubernetesRoleProblem,
      objectAt: kubernetesAuthAt,
    }),
    ...KUBERNETES_LOGIN_ROUTES,
  ]),
);

function kubernetesAuthOf(context: CallContext) {
  return kubernetesAuthAt(context.env, mountOf(context));
}

/** Logins with the token of a service account, which the API server of its cluster reviews. */
export const KUBERNETES_METHOD: AuthMethod = {
  type: "kubernetes",
  routes: KUBERNETES_ROUTES,
  renew: renewKubernetesLogin,
  roleOfLogin: async (_env, _mount, data) => namedRole(data) ?? "",
  recognise: ({ env, mount, text }) =>
    trustedJwt(text, kubernetesAuthAt(env, mount), (config, iss) => {
      const issuer = boundIssuer(config);
      return issuer === null || iss === issuer;
    }),
  rolesGiving: (env, mount, policy) => kubernetesAuthAt(env, mount).rolesGiving(policy),
  objects: { KubernetesAuth: { in: (env) => env.KUBERNETES_AUTH, names: mountNames } },
  erase: (env, mount) => kubernetesAuthAt(env, mount).erase(),
};
