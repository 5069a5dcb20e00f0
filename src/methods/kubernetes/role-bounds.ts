import { privateHosts } from "../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../base/outbound-http.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Installation } from "../../system/installation.ts";
import type { Mount } from "../../system/mount.ts";
import { type ApiRefusal, type ApiServer, readNamespaceLabels } from "./api-server.ts";
import { type KubernetesConfig, serverUrl } from "./config.ts";
import type { KubernetesEnv } from "./env.ts";
import { readSelector, selects } from "./label-selector.ts";
import { openReviewer } from "./reviewer-jwt.ts";
import { type KubernetesRole, takesName, takesNamespace } from "./role.ts";
import type { ServiceAccount } from "./service-account.ts";

/** A refusal whose reason the client may know. */
export function forbidden(message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "forbidden", message });
}

/** Returns the API server as the mount's reviewer asks it; null for a mount without one. @param tellsCause see `ApiServer` */
export async function asReviewer(
  {
    env,
    installation,
    mount,
  }: { readonly env: KubernetesEnv; readonly installation: Installation; readonly mount: Mount },
  config: KubernetesConfig,
  tellsCause: boolean,
): Promise<ApiServer | null> {
  const bearer = await openReviewer(installation.keys, mount, config);
  if (bearer === null) return null;
  return { url: serverUrl(config), bearer, asker: "reviewer", listed: privateHosts(env), tellsCause };
}

/** The failure of a request that the API server gave nothing to judge by. An operator must act, or a later try helps. */
export function unanswered(what: string, { why }: ApiRefusal): Failure {
  return serviceUnavailable(`the API server could not ${what}: ${why}`);
}

/** Returns why the role does not take a service account by its names, or null: "by labels" is judged later. */
export function accountProblem(role: KubernetesRole, account: ServiceAccount): string | null {
  return takesName(role, account) ? null : "service account name not authorized";
}

/** Judges a namespace by its name, and by its labels where these count. Only the reviewer may read labels. */
export async function judgeNamespace(
  role: KubernetesRole,
  account: ServiceAccount,
  reviewer: ApiServer | null,
): Promise<Result<null>> {
  const taken = takesNamespace(role, account);
  if (taken !== "by labels") return taken ? ok(null) : forbidden(NAMESPACE_REFUSED);
  const selector = readSelector(role.namespaceSelector);
  if (!reviewer || !selector.ok) {
    return forbidden(`${NAMESPACE_REFUSED}: a namespace selector needs token_reviewer_jwt`);
  }
  const labels = await readNamespaceLabels(reviewer, account.namespace);
  if (!labels.ok) {
    const isGone = labels.error.kind === "absent";
    return isGone ? forbidden(NAMESPACE_REFUSED) : err(unanswered("show the namespace", labels.error));
  }
  return selects(selector.value, labels.value) ? ok(null) : forbidden(NAMESPACE_REFUSED);
}

export const NAMESPACE_REFUSED = "namespace not authorized";
