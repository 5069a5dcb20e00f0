import type { IssuedLogin } from "../../../auth/login.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, inContext, invalid } from "../../../base/errors.ts";
import { privateHosts } from "../../../base/private-hosts.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { CallerIdentity } from "../answers/sts.ts";
import { askCallerIdentity } from "../clients/caller-identity.ts";
import type { ClientConfig } from "../config/client.ts";
import { chosenMetadata } from "../config/identity.ts";
import { INSTANCE_ENTITY } from "../roles/role.ts";
import { checkSignedRequest } from "../sts/signed-request.ts";
import { type Attempt, findTarget, type LoginTarget, startLogin } from "./attempt.ts";
import type { LoginFields } from "./fields.ts";
import { checkInstance } from "./instance.ts";
import { issueVerifiedLogin } from "./issue.ts";
import { isBoundTo } from "./principal.ts";
import { roleTerms, untagged } from "./terms.ts";
import { writeTokenData } from "./token-data.ts";

/**
 * A login by a signed GetCallerIdentity request: STS says who signed it, and where the role asks for it, the instance
 * that the signer runs on is inferred from its session.
 */
export async function loginByPrincipal(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin, Failure>> {
  const start = await startLogin(attempt, "iam", fields.role);
  if (!start.ok) return start;
  const caller = await identifyCaller(attempt.env, start.value.client, fields);
  if (!caller.ok) return caller;
  const { principal, accountId } = caller.value;
  attempt.notes.principal = principal.arn;
  const found = await findTarget(attempt, "iam", fields.role || principal.friendlyName, accountId);
  if (!found.ok) return found;
  const target = found.value;
  const bound = await isBoundTo(target, { arn: principal, uniqueId: caller.value.uniqueId });
  if (!bound.ok) return bound;
  if (!bound.value) {
    return err(invalid(`IAM Principal "${principal.arn}" does not belong to the role "${target.roleName}"`));
  }
  const inferred = await inferInstance(target, caller.value);
  return inferred.ok ? issueToPrincipal(attempt, target, caller.value, inferred.value) : inferred;
}

async function identifyCaller(
  env: Env,
  config: ClientConfig,
  fields: LoginFields,
): Promise<Result<CallerIdentity, Failure>> {
  const request = checkSignedRequest(
    {
      iam_http_request_method: fields.iam_http_request_method ?? "",
      iam_request_url: fields.iam_request_url ?? "",
      iam_request_body: fields.iam_request_body ?? "",
      iam_request_headers: fields.iam_request_headers,
    },
    config,
    currentTime(),
  );
  if (!request.ok) return request;
  const caller = await askCallerIdentity({ hosts: privateHosts(env), maxRetries: config.maxRetries }, request.value);
  return caller.ok ? caller : err(inContext("error making upstream request", caller.error));
}

/**
 * The id of the instance that the caller runs on; "" when the role infers none. A session is named by whoever assumes
 * the role, so the name alone proves nothing: the instance has to have the caller's role in its profile, which is how
 * the sessions of instances come to be.
 */
async function inferInstance(target: LoginTarget, caller: CallerIdentity): Promise<Result<string, Failure>> {
  const { role } = target;
  if (role.inferredEntityType !== INSTANCE_ENTITY) return ok("");
  const instanceId = caller.principal.sessionName;
  if (instanceId === null) return err(invalid("only an assumed role can be inferred to be an instance"));
  const checked = await checkInstance(target, role.inferredRegion, instanceId, true);
  if (!checked.ok) return checked;
  if (checked.value.profileRole?.uniqueId === caller.uniqueId) return ok(instanceId);
  return err(invalid("the session is named like an instance whose role is another one"));
}

function issueToPrincipal(
  attempt: Attempt,
  { role, roleName, identity, boundCidrs }: LoginTarget,
  { principal, uniqueId, accountId }: CallerIdentity,
  inferredInstanceId: string,
): Promise<Result<IssuedLogin, Failure>> {
  const inferredRegion = inferredInstanceId === "" ? "" : role.inferredRegion;
  const chosen = chosenMetadata(identity.iamMetadata, {
    account_id: accountId,
    auth_type: "iam",
    canonical_arn: principal.canonicalArn,
    client_arn: principal.arn,
    client_user_id: uniqueId,
    inferred_cloud_region: inferredRegion,
    inferred_entity_id: inferredInstanceId,
    inferred_entity_type: inferredInstanceId === "" ? "" : INSTANCE_ENTITY,
  });
  const { friendlyName, sessionName } = principal;
  const aliases = { role_id: role.roleId, unique_id: uniqueId, full_arn: principal.arn };
  return issueVerifiedLogin(attempt, {
    terms: roleTerms(role, untagged(role), boundCidrs),
    alias: aliases[identity.iamAlias],
    metadata: { ...chosen, role_id: role.roleId },
    aliasMetadata: chosen,
    displayName: sessionName === null ? friendlyName : `${friendlyName}/${sessionName}`,
    internal: writeTokenData({
      kind: "iam",
      role: roleName,
      canonicalArn: principal.canonicalArn,
      uniqueId,
      accountId,
      inferredInstanceId,
      inferredRegion,
    }),
  });
}
