import { currentTime, type Ms } from "../base/clock.ts";
import { err, type Failure, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import { aclOf } from "../identity/entity-copies.ts";
import type { EntityView } from "../identity/model.ts";
import type { AccessRequest, Trace, Verdict } from "../policy/acl.ts";
import { evaluateAcl } from "../policy/evaluate.ts";
import type { Installation } from "../system/installation.ts";
import type { TokenRecord } from "./record.ts";
import { addressAllowed } from "./rules/bound-cidrs.ts";

/** What a request asks for, and where it comes from. */
export interface Call {
  readonly access: AccessRequest;
  /** null when unknown; then a token bound to networks is refused. */
  readonly clientAddress: string | null;
}

/** Inputs of a decision besides the token and the request, all read at one moment. */
export interface Circumstances {
  readonly installation: { readonly policies: Pick<Installation["policies"], "aclFor"> };
  /** The entity of the token, which adds policies; null without one. A failure when it is disabled or deleted. */
  readonly entity: Result<EntityView | null>;
  readonly now: Ms;
}

/**
 * Decides about a request of a token that was found alive. This is the one rule for every kind of token, in the tree
 * and in the Worker. `trace` receives the steps of the evaluation of the policies.
 *
 * @returns what the policies grant on the path, or null when they refuse the request. A failure when the token can't be
 *   used at all: from this address, or because of its entity.
 */
export function verdictForToken(
  token: Pick<TokenRecord, "policies" | "boundCidrs">,
  { access, clientAddress }: Call,
  { installation, entity, now }: Circumstances,
  trace?: Trace,
): Result<Verdict | null> {
  if (!addressAllowed(token.boundCidrs, clientAddress)) return err(UNAUTHENTICATED);
  if (!entity.ok) return entity;
  const verdict = evaluateAcl(aclOf(installation, token.policies, entity.value, now), access, now, trace);
  return ok(verdict.allowed ? verdict : null);
}

/** A token as it was found, with the decision about its request. */
export interface Decided<T> {
  readonly found: T;
  readonly verdict: Verdict | null;
  readonly now: Ms;
}

interface TokenSource<T> {
  /** The token if it is alive at this moment, else null. */
  readonly find: (now: Ms) => T | null;
  /** A failure when the entity is disabled or deleted. */
  readonly loadEntity: (entityId: string) => Promise<Result<EntityView | null>>;
}

/**
 * Finds the token of a request, decides about the request and acts on the decision. The token is read again after its
 * entity was loaded: other requests were served meanwhile, and one of them may have ended it.
 *
 * @param act runs in the step in which the token was found, without an `await` in between. After one, concurrent
 *   requests could have spent the last use or revoked the token, and each would still act on it as it was found.
 * @param refuse makes the answer when the token can't be used, see `verdictForToken`: the audit log says whose token
 *   that was.
 * @returns what `act` or `refuse` returns, or null when no such token is alive.
 */
export async function decideAndAct<T extends { readonly caller: TokenRecord }, R>(
  installation: Circumstances["installation"],
  call: Call,
  { find, loadEntity }: TokenSource<T>,
  act: (decided: Decided<T>) => R,
  refuse: (found: T, failure: Failure) => R | Result<never>,
): Promise<R | Result<never> | null> {
  let now = currentTime();
  let found = find(now);
  let entity: Result<EntityView | null> = ok(null);
  if (found && found.caller.entityId !== "") {
    entity = await loadEntity(found.caller.entityId);
    now = currentTime();
    found = find(now);
  }
  if (!found) return null;
  const verdict = verdictForToken(found.caller, call, { installation, entity, now });
  return verdict.ok ? act({ found, verdict: verdict.value, now }) : refuse(found, verdict.error);
}
