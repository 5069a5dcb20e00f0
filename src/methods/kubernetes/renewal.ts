import type { LoginRenewal } from "../../auth/kinds.ts";
import { renewTerms } from "../../auth/token-settings.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import type { RenewTerms } from "../../token/rules/renew.ts";
import { readServiceAccount } from "./api-server.ts";
import { kubernetesAuthAt } from "./kubernetes-auth.ts";
import { accountProblem, asReviewer, judgeNamespace, unanswered } from "./role-bounds.ts";
import { serviceAccountOf } from "./service-account.ts";

/**
 * Checks at a renewal whether the holder of a token may still have it. The token of the login is not stored, so it can't
 * be reviewed again: the reviewer asks for the service account, which must be there under the same uid, and the role
 * must still take it. What can't be asked is not renewed (CVE-2026-115356).
 */
export async function renewKubernetesLogin(renewal: LoginRenewal): Promise<Result<RenewTerms>> {
  const { env, mount, token, internal } = renewal;
  const { role: roleName = "", namespace, name, uid } = internal;
  const { config, role } = await kubernetesAuthAt(env, mount).readLogin(roleName);
  if (!role) return refuse(`role ${roleName} does not exist during renewal`);
  if (!config) return refuse("could not load backend configuration");
  const account = serviceAccountOf(namespace, name, uid);
  if (!account) throw new Error("the service account in a token was checked at its login");
  const problem = accountProblem(role, account);
  if (problem) return refuse(problem);
  const reviewer = await asReviewer(renewal, config, false);
  if (!reviewer) return refuse("without token_reviewer_jwt Grove can't read the service account: log in again");
  const found = await readServiceAccount(reviewer, account);
  if (!found.ok) return err(unanswered("show the service account to the reviewer", found.error));
  if (found.value === null) return refuse("the service account does not exist any more");
  const inNamespace = await judgeNamespace(role, account, reviewer);
  if (!inNamespace.ok) return inNamespace;
  return ok(renewTerms(role.token, token));
}
