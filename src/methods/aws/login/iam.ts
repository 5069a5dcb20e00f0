import { type IssuedLogin, issueToken, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime } from "../../../base/clock.ts";
import { type PrivateHosts, privateHosts } from "../../../base/private-hosts.ts";
import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import type { CallerIdentity } from "../answers/sts.ts";
import type { ClientConfig } from "../clients/config.ts";
import { findPrincipal } from "../clients/principals.ts";
import { askCallerIdentity } from "../clients/sts.ts";
import { chosenMetadata } from "../rules/identity.ts";
import { INSTANCE_ENTITY } from "../rules/role.ts";
import { roleTerms, untagged } from "../rules/terms.ts";
import { checkSignedRequest } from "../sts/signed-request.ts";
import { type Attempt, clientOf, findTarget, type LoginFields, type LoginTarget, startLogin } from "./attempt.ts";
import { checkInstance } from "./instance.ts";
import { isBoundTo } from "./principal.ts";
import { issueForSignature, type Signature } from "./signature-uses.ts";
import { writeTokenData } from "./token-data.ts";

/** Who logs in, and the signature that proved it; null where it is only claimed. */
export type ProvenCaller = CallerIdentity & { readonly signature: Signature | null };

/**
 * A login by a signed GetCallerIdentity request: STS says who signed it, and where the role asks for it, the instance
 * that the signer runs on is inferred from its session.
 */
export async function loginByPrincipal(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin>> {
  const verified = await verifyPrincipal(attempt, fields, null);
  if (!verified.ok) return verified;
  const { client, signature } = verified.value;
  return signature ? issueForSignature(attempt, signature, client) : issueToken(attempt, client);
}

/** A principal that passed every check, with what proved who it is. */
interface VerifiedPrincipal {
  readonly client: VerifiedClient;
  readonly signature: Signature | null;
}

/** Makes all checks of such a login. Writes nothing. `claim` is a caller that is taken as true; null where the fields prove one. */
export async function verifyPrincipal(
  attempt: Attempt,
  fields: LoginFields,
  claim: ProvenCaller | null,
): Promise<Result<VerifiedPrincipal>> {
  const { checks } = attempt;
  const start = await startLogin(attempt, "iam", fields.role);
  if (!start.ok) return start;
  const proven = claim
    ? checks.assume("caller", claim.principal.arn, claim)
    : await proveCaller(attempt, start.value.settings.client, fields);
  if (!proven.ok) return proven;
  const { principal, accountId } = proven.value;
  attempt.notes.principal = principal.arn;
  const found = await findTarget(attempt, "iam", start.value, principal.friendlyName, accountId);
  if (!found.ok) return found;
  const target = found.value;
  const compared = { bound: target.role.bounds.bound_iam_principal_arn ?? [], actual: principal.arn };
  const bound = checks.record("principal", compared, await checkPrincipal(target, proven.value));
  if (!bound.ok) return bound;
  const inferred = await inferInstance(target, bound.value, checks);
  if (!inferred.ok) return inferred;
  const client = clientOf(attempt.mount, holderOf(target, bound.value, inferred.value));
  return ok({ client, signature: bound.value.signature });
}

/** Who signed the request in the fields, as STS says. */
async function proveCaller(
  { env, checks }: Attempt,
  config: ClientConfig,
  fields: LoginFields,
): Promise<Result<ProvenCaller>> {
  const caller = await identifyCaller(privateHosts(env), config, fields);
  return checks.record("caller", { actual: caller.ok ? caller.value.principal.arn : null }, caller);
}

/**
 * The caller, if the role is bound to it. Where its unique id matters and is not known yet, IAM is asked for it.
 * Messages are those of the reference's AWS method (login).
 */
async function checkPrincipal(target: LoginTarget, caller: ProvenCaller): Promise<Result<ProvenCaller>> {
  const { principal } = caller;
  const known = caller.uniqueId === "" ? await withUniqueId(target, caller) : ok(caller);
  if (!known.ok) return known;
  const bound = await isBoundTo(target, { arn: principal, uniqueId: known.value.uniqueId });
  if (!bound.ok) return bound;
  if (bound.value) return known;
  return refuse(`IAM Principal "${principal.arn}" does not belong to the role "${target.roleName}"`);
}

async function withUniqueId(target: LoginTarget, caller: ProvenCaller): Promise<Result<ProvenCaller>> {
  const { role } = target;
  const counts = role.inferredEntityType === INSTANCE_ENTITY || (role.bounds.bound_iam_principal_arn ?? []).length > 0;
  if (!counts) return ok(caller);
  const found = await findPrincipal(target, caller.principal);
  return found.ok ? ok({ ...caller, uniqueId: found.value.uniqueId }) : found;
}

async function identifyCaller(
  hosts: PrivateHosts,
  config: ClientConfig,
  fields: LoginFields,
): Promise<Result<ProvenCaller>> {
  const request = checkSignedRequest(fields, config, currentTime());
  if (!request.ok) return request;
  const caller = await askCallerIdentity({ hosts, maxRetries: config.maxRetries }, request.value);
  if (!caller.ok) return err(inContext("error making upstream request", caller.error));
  const { signature: text, endsAt } = request.value;
  return ok({ ...caller.value, signature: { text, endsAt } });
}

/**
 * The id of the instance that the caller runs on; "" when the role infers none. The client that assumes a role names
 * the session, so the name alone proves nothing: the instance has to have the caller's role in its profile, which is how
 * the sessions of instances come to be.
 */
async function inferInstance(
  target: LoginTarget,
  caller: CallerIdentity,
  checks: Attempt["checks"],
): Promise<Result<string>> {
  const { role } = target;
  if (role.inferredEntityType !== INSTANCE_ENTITY) return ok("");
  const { sessionName } = caller.principal;
  const named = sessionName === null ? refuse(NO_SESSION) : ok(sessionName);
  const instanceId = checks.record("inferred_session", { actual: sessionName }, named);
  if (!instanceId.ok) return instanceId;
  const checked = await checkInstance(target, role.inferredRegion, instanceId.value, true, checks);
  if (!checked.ok) return checked;
  const { profileRole } = checked.value;
  const own = profileRole?.uniqueId === caller.uniqueId;
  const compared = { bound: profileRole ? [profileRole.arn.arn] : [], actual: caller.principal.canonicalArn };
  return checks.record("inferred_role", compared, own ? instanceId : refuse(OTHER_ROLE));
}

const NO_SESSION = "only an assumed role can be inferred to be an instance";
const OTHER_ROLE = "the session is named like an instance whose role is another one";

function holderOf(
  { role, roleName, identity, boundCidrs }: LoginTarget,
  { principal, uniqueId, accountId }: ProvenCaller,
  inferredInstanceId: string,
) {
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
  return {
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
  };
}
