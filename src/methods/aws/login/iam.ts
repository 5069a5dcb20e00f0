import type { IssuedLogin } from "../../../auth/issue-login.ts";
import { issueToken, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { ExpiringCache } from "../../../base/generational-cache.ts";
import { numberSetting } from "../../../base/number-settings.ts";
import { err, inContext, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { fromHex, toBase64Url } from "../../../crypto/bytes.ts";
import type { CallerIdentity } from "../answers/read-answers.ts";
import { askCallerIdentity } from "../clients/client.ts";
import { findPrincipal } from "../clients/principal-and-instance.ts";
import { chosenMetadata } from "../rules/alias-and-metadata.ts";
import { INSTANCE_ENTITY, infersInstance } from "../rules/role.ts";
import { cloudRoleTerms, untagged } from "../rules/role-grant.ts";
import { checkSignedRequest } from "../sts/signed-request.ts";
import type { Attempt, Judged } from "./check-list.ts";
import { type Begun, type LoginRole, type LoginTarget, type Settings, verifiedClient } from "./login-role.ts";
import { isBoundTo } from "./principal-bounds.ts";

/** The caller of a login, and the signature that proved it; null when the caller is only claimed. */
export type ProvenCaller = CallerIdentity & { readonly signature: Signature | null };

/** STS answers who signed the request of a login. */
export async function proveCaller(known: Begun<ProvenCaller> & Settings) {
  const { attempt, claim } = known;
  const caller = claim ? ok(claim) : await askForCaller(known);
  if (!caller.ok) return { result: caller };
  const { principal, accountId } = caller.value;
  attempt.notes.principal = principal.arn;
  const result = ok({ caller: caller.value, proven: { name: principal.friendlyName, accountId } });
  return { actual: principal.arn, isAssumed: claim !== null, result };
}

async function askForCaller({ attempt: { env }, settings, fields }: Begun & Settings): Promise<Result<ProvenCaller>> {
  const { client: config } = settings;
  const request = checkSignedRequest(fields, config, currentTime());
  if (!request.ok) return request;
  const caller = await askCallerIdentity({ env, config }, request.value);
  if (!caller.ok) return err(inContext("error making upstream request", caller.error));
  const { signature: text, endsAt } = request.value;
  return ok({ ...caller.value, signature: { text, endsAt } });
}

/**
 * Returns the caller if the role is bound to it. Messages are those of the reference's AWS method (login). The unique id
 * of a caller that is only claimed is looked up, which a login need not do: a look-up that fails says nothing about the
 * login of a caller that the role names, and the claim is taken as true.
 */
export async function judgeCaller(
  target: LoginRole,
  caller: ProvenCaller,
): Promise<Judged<{ readonly caller: ProvenCaller }>> {
  const { role } = target;
  const bound = role.bounds.bound_iam_principal_arn ?? [];
  const actual = caller.principal.arn;
  if (caller.uniqueId !== "") return { bound, actual, result: await bindCaller(target, caller) };
  const isNamed = bound.includes(caller.principal.canonicalArn);
  if (isNamed && !role.resolveUniqueIds && !infersInstance(role)) return { bound, actual, result: ok({ caller }) };
  const known = await withUniqueId(target, caller);
  if (known.ok) return { bound, actual, result: await bindCaller(target, known.value) };
  if (!isNamed || infersInstance(role)) return { bound, actual, result: known };
  return { bound, actual, result: ok({ caller }), isAssumed: true, unchecked: known.error };
}

async function bindCaller(target: LoginRole, caller: ProvenCaller): Promise<Result<{ readonly caller: ProvenCaller }>> {
  const { principal, uniqueId } = caller;
  const bound = await isBoundTo(target, { arn: principal, uniqueId });
  if (!bound.ok) return bound;
  if (bound.value) return ok({ caller });
  return refuse(`IAM Principal "${principal.arn}" does not belong to the role "${target.roleName}"`);
}

async function withUniqueId(target: LoginRole, caller: ProvenCaller): Promise<Result<ProvenCaller>> {
  const found = await findPrincipal(target, caller.principal);
  return found.ok ? ok({ ...caller, uniqueId: found.value.uniqueId }) : found;
}

/** The client of a login that has passed all checks. */
export function principalClient(known: LoginTarget & { readonly caller: ProvenCaller; readonly inferredId: string }) {
  const { target, caller, inferredId } = known;
  const { principal, uniqueId, accountId } = caller;
  const { role, roleName, identity, boundCidrs } = target;
  const inferredRegion = inferredId === "" ? "" : role.inferredRegion;
  const { friendlyName, sessionName, canonicalArn } = principal;
  const aliases = { role_id: role.roleId, unique_id: uniqueId, full_arn: principal.arn };
  const chosen = chosenMetadata(identity.iamMetadata, {
    account_id: accountId,
    auth_type: "iam",
    canonical_arn: canonicalArn,
    client_arn: principal.arn,
    client_user_id: uniqueId,
    inferred_cloud_region: inferredRegion,
    inferred_entity_id: inferredId,
    inferred_entity_type: inferredId === "" ? "" : INSTANCE_ENTITY,
  });
  const alias = { name: aliases[identity.iamAlias], metadata: chosen };
  const token = {
    ...cloudRoleTerms(role, untagged(role), boundCidrs),
    displayName: sessionName === null ? friendlyName : `${friendlyName}/${sessionName}`,
    metadata: { ...chosen, role_id: role.roleId },
  };
  const data = { role: roleName, canonicalArn, uniqueId, accountId, inferredInstanceId: inferredId, inferredRegion };
  return ok({ client: verifiedClient(target, alias, token, { kind: "iam", ...data }) });
}

/** The signature of a login that STS has verified, and when it is too old for another login. */
type Signature = { readonly text: string; readonly endsAt: Ms };

/** Minimum number of signatures that are remembered; they take 12.5 MB at most. */
const MAX_SIGNATURES = 2 ** 15;

/**
 * Counts the tokens of each signature in the memory of this isolate, so that a signed login that leaks into a log can't
 * create any number of tokens. Only verified signatures are counted: forged ones can't evict others.
 */
export class SignatureUses {
  readonly #uses = new ExpiringCache<{ count: number }>(MAX_SIGNATURES);

  /** Counts a token before it is issued; false when the signature has given `most`. */
  take({ text, endsAt }: Signature, most: number, now: Ms): boolean {
    const key = keyOf(text);
    const uses = this.#uses.get(key, now);
    if (!uses) this.#uses.set(key, { count: 1 }, endsAt);
    else if (uses.count < most) uses.count++;
    else return false;
    return true;
  }

  /** Takes back the count of a token that was not issued. */
  giveBack({ text }: Signature, now: Ms): void {
    const uses = this.#uses.get(keyOf(text), now);
    if (uses) uses.count--;
  }
}

/**
 * The first 16 bytes: too few to use the signature again. A new string, as a substring of the request would keep the
 * whole request in memory.
 */
function keyOf(signature: string): string {
  return toBase64Url((fromHex(signature) ?? new Uint8Array()).subarray(0, 16));
}

const signatureUses = new SignatureUses();

const SIGNATURE_USED_UP = invalid(
  "this signed request has given as many tokens as one may (TOKENS_PER_SIGNATURE): sign the request again",
);

/** Issues the token of a verified signature, if it has not given as many as it may. */
export async function issueForSignature(
  attempt: Attempt,
  signature: Signature,
  client: VerifiedClient,
): Promise<Result<IssuedLogin>> {
  // Counted before the first await: concurrent logins can't pass the limit together.
  const most = numberSetting("TOKENS_PER_SIGNATURE", attempt.env.TOKENS_PER_SIGNATURE);
  if (!signatureUses.take(signature, most, currentTime())) {
    return attempt.checks.record("signature_uses", {}, err(SIGNATURE_USED_UP));
  }
  const issued = await issueToken(attempt, client);
  if (!issued.ok) signatureUses.giveBack(signature, currentTime());
  return issued;
}
