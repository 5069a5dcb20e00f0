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
import { DONE_OR_WARNED, NO_CONTENT } from "../../auth/route-description.ts";
import { mountNames } from "../../backup/saved-objects.ts";
import { nameKey } from "../../base/name.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { ok, okUnless } from "../../base/result.ts";
import { mountTtl } from "../../system/mount.ts";
import { namedSegment } from "../../wire/path-name.ts";
import { EMPTY, warnedReply } from "../../wire/reply.ts";
import { isRoleName, namedRole } from "../roles.ts";
import { CLUSTER_FIELDS, CLUSTER_VIEW, configWarnings, readClusterConfig } from "./config.ts";
import { kubernetesAuthAt } from "./kubernetes-auth.ts";
import { KUBERNETES_LOGIN_ROUTES } from "./login.ts";
import { renewKubernetesLogin } from "./renewal.ts";
import { sealReviewer } from "./reviewer.ts";
import { KUBERNETES_ROLE_FIELDS, KUBERNETES_ROLE_VIEW, kubernetesRoleProblem } from "./role.ts";

const ROLE_PATH = `role/${namedSegment("name")}`;

const KUBERNETES_ROUTES: readonly Route[] = withParameters(
  { name: "The name of the role" },
  // A rule of a policy applies to every spelling of a role.
  withPolicyPaths({ canonicalPath: (path) => path.replace(/^role\/[^/]+$/, nameKey) }, [
    showRoute("config", {
      summary: "Shows the cluster of the mount, without the token that asks for reviews.",
      operationId: "read-auth-configuration",
      view: CLUSTER_VIEW,
      read: (context) => kubernetesAuthOf(context).readConfig(),
      warningsOf: configWarnings,
    }),
    tokenRoute("update", "config", {
      summary: "Sets the cluster of the mount. A reviewer that is not sent stays while the host does.",
      operationId: "configure-auth",
      answers: NO_CONTENT,
      input: CLUSTER_FIELDS,
      prepare: async ({ env, fields }) => readClusterConfig(fields, privateHosts(env), env),
      handle: async (context) => {
        const { installation, fields, prepared: config } = context;
        const { token_reviewer_jwt: sent } = fields;
        const sealed = sent ? await sealReviewer(installation.keys, [mountOf(context), config.host], sent) : null;
        const sealedReviewer = sent === undefined ? undefined : sealed;
        await kubernetesAuthOf(context).writeConfig({ ...config, sealedReviewer });
        return ok(EMPTY);
      },
    }),

    listRoute("role", {
      summary: "Lists the roles.",
      operationId: "list-auth-roles",
      names: (context, after, limit) => kubernetesAuthOf(context).listRoles(after, limit),
    }),
    showRoute(ROLE_PATH, {
      summary: "Shows a role.",
      operationId: "read-auth-role",
      view: KUBERNETES_ROLE_VIEW,
      read: (context) => kubernetesAuthOf(context).readRole(nameOf(context)),
    }),
    tokenRoute("update", ROLE_PATH, {
      summary: "Makes or changes a role; fields that are not sent stay as they are.",
      operationId: "write-auth-role",
      answers: DONE_OR_WARNED,
      input: KUBERNETES_ROLE_FIELDS,
      prepare: async ({ params, fields }) => {
        const isLong = !isRoleName(nameOf({ params }));
        return okUnless(isLong ? "the name of the role is too long" : kubernetesRoleProblem(fields), null);
      },
      handle: async (context) => {
        const stub = kubernetesAuthOf(context);
        const warnings = await stub.writeRole(nameOf(context), context.fields, mountTtl(mountOf(context)));
        return warnings.ok ? ok(warnedReply(warnings.value)) : warnings;
      },
    }),
    removeRoute(ROLE_PATH, {
      summary: "Deletes a role.",
      operationId: "delete-auth-role",
      remove: (context) => kubernetesAuthOf(context).deleteRole(nameOf(context)),
    }),

    ...KUBERNETES_LOGIN_ROUTES,
  ]),
);

function kubernetesAuthOf(context: CallContext) {
  return kubernetesAuthAt(context.env, mountOf(context));
}

function nameOf({ params }: Pick<CallContext, "params">): string {
  return nameKey(params.name ?? "");
}

/** Logins with the token of a service account, which the API server of its cluster reviews. */
export const KUBERNETES_METHOD: AuthMethod = {
  type: "kubernetes",
  routes: KUBERNETES_ROUTES,
  renew: renewKubernetesLogin,
  roleOfLogin: async (_env, _mount, data) => namedRole(data) ?? "",
  rolesGiving: (env, mount, policy) => kubernetesAuthAt(env, mount).rolesGiving(policy),
  objects: { KubernetesAuth: { in: (env) => env.KUBERNETES_AUTH, names: mountNames } },
  erase: (env, mount) => kubernetesAuthAt(env, mount).erase(),
};
