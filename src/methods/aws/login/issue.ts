import { type IssuedLogin, issueLogin, planIssue } from "../../../auth/login.ts";
import type { TokenTerms } from "../../../auth/token-settings.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { entityForLogin, findEntityForLogin } from "../../../identity/login.ts";
import type { Mount } from "../../../system/mount.ts";
import type { Login, LoginPlan } from "../../../token/rules/login.ts";
import { mountTypeOf } from "../mount/mount.ts";
import type { Metadata } from "../rules/identity.ts";
import { translateMetadata } from "../vocabulary.ts";
import type { Attempt } from "./attempt.ts";
import { type Signature, SignatureUses, tokensPerSignature } from "./signature-uses.ts";

/** What the method says about a client that it verified. */
export interface VerifiedLogin {
  readonly terms: TokenTerms;
  /** What proved who it is, where that can be shown again; null for a document, which its nonce guards. */
  readonly signature: Signature | null;
  /** The name that the mount knows the client by. */
  readonly alias: string;
  /** Shown to clients, in the inner vocabulary. */
  readonly metadata: Metadata;
  /** The chosen part of it, kept with the alias. */
  readonly aliasMetadata: Metadata;
  readonly displayName: string;
  /** What the token keeps for renewals. */
  readonly internal: Metadata;
}

/** What the signatures of this isolate's logins have given. */
const signatureUses = new SignatureUses();

const SIGNATURE_USED_UP = invalid(
  "this signed request has given as many tokens as one may (TOKENS_PER_SIGNATURE): sign the request again",
);

/**
 * Gives a verified client its token: the last step of every login.
 *
 * @returns "permission_denied" when an operator has disabled the entity of the client.
 */
export async function issueVerifiedLogin(
  attempt: Attempt,
  login: VerifiedLogin,
): Promise<Result<IssuedLogin, Failure>> {
  const { signature } = login;
  if (!signature) return issue(attempt, login);
  // Counted before anything is waited for: of many logins at once no more than the allowed ones get past here.
  const most = tokensPerSignature(attempt.env.TOKENS_PER_SIGNATURE);
  if (!signatureUses.take(signature, most, currentTime())) {
    return attempt.steps.record("signature_uses", {}, err(SIGNATURE_USED_UP));
  }
  const issued = await issue(attempt, login);
  if (!issued.ok) signatureUses.giveBack(signature, currentTime());
  return issued;
}

async function issue(attempt: Attempt, login: VerifiedLogin): Promise<Result<IssuedLogin, Failure>> {
  const { env, installation, mount, steps } = attempt;
  const found = await entityForLogin(env, {
    mountAccessor: mount.accessor,
    aliasName: login.alias,
    metadata: translateMetadata(mountTypeOf(mount), login.aliasMetadata),
  });
  const entity = steps.record("entity", {}, found);
  if (!entity.ok) return entity;
  const issued = await issueLogin(env, installation, mount, tokenOf(mount, login, entity.value.entity.id));
  return steps.record("token", {}, issued);
}

/** The token that a login would get. */
export interface PlannedLogin {
  readonly plan: LoginPlan;
  readonly identityPolicies: readonly string[];
}

/** Records the checks of the last step and gives the token that would be made. Makes nothing. */
export async function planVerifiedLogin(
  { env, installation, mount, steps }: Attempt,
  login: VerifiedLogin,
): Promise<Result<PlannedLogin, Failure>> {
  const found = await findEntityForLogin(env, { mountAccessor: mount.accessor, aliasName: login.alias });
  const entity = steps.record("entity", { actual: login.alias }, found);
  if (!entity.ok) return entity;
  const { id, policies: identityPolicies } = entity.value;
  const plan = steps.record("token", {}, planIssue(installation, mount, tokenOf(mount, login, id ?? "")));
  return plan.ok ? ok({ plan: plan.value, identityPolicies }) : plan;
}

function tokenOf(mount: Mount, { terms, displayName, metadata, internal }: VerifiedLogin, entityId: string): Login {
  return { ...terms, displayName, metadata: translateMetadata(mountTypeOf(mount), metadata), entityId, internal };
}
