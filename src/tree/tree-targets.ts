import { err, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { EndRequest } from "../system/end-request.ts";
import type { Outcome, Target, TargetAction } from "../token/actions.ts";
import type { HowEnded } from "../token/end-record.ts";
import type { TokenView } from "../token/record.ts";
import { ownTerms, planRenew, refuseRenewal } from "../token/rules/renew.ts";
import { REVOKED, REVOKED_ALONE, type TokenEnd } from "../token/state.ts";
import { isWrappingToken } from "../token/wrapping-token.ts";
import { RESPONSE_PATH } from "../wire/stored-answer.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { TokenRow } from "./token-rows.ts";

/** Performs actions on a token of the tree that a caller names. */
export class TreeTargets {
  readonly #tree: SharedParts;

  constructor(tree: SharedParts) {
    this.#tree = tree;
  }

  /**
   * Performs an action in one step, without an `await`: each of several concurrent calls sees the changes of the
   * others.
   *
   * @param callerRow the row for the target "self"; null when the caller is not a token of this tree.
   * @param now ms.
   * @returns "not_found" when the target is not alive.
   */
  perform(action: TargetAction, callerRow: TokenRow | null, now: number): Result<Outcome> {
    const { tokens } = this.#tree;
    const row = this.#find(action.target, callerRow, now);
    if (!row) return NOT_FOUND;
    switch (action.kind) {
      case "lookup":
        return ok({ kind: "token", token: tokens.view(row, now) });
      case "revoke":
        return this.#revoke(row, REVOKED, "revoked", action.asked);
      case "revoke_orphan":
        return this.#revoke(row, REVOKED_ALONE, "revoked", action.asked);
      case "renew":
        return this.#renew(action, tokens.view(row, now), now);
      case "unwrap":
        return this.#unwrap(row, action, now);
    }
  }

  /** Why a token can't be used at `now` (ms); null while it is alive. */
  endOf(target: Exclude<Target, { by: "self" }>, now: number): TokenEnd | null {
    const { tokens } = this.#tree;
    const row = tokens.find(target.row);
    return row && matches(row, target) ? tokens.endOf(row, now) : "gone";
  }

  #find(target: Target, callerRow: TokenRow | null, now: number): TokenRow | null {
    if (target.by === "self") return callerRow;
    const row = this.#tree.tokens.live(target.row, now);
    if (!row) return null;
    return matches(row, target) ? row : null;
  }

  #revoke(
    { row, fixed }: TokenRow,
    state: typeof REVOKED | typeof REVOKED_ALONE,
    how: HowEnded,
    asked: EndRequest,
  ): Result<Outcome, never> {
    this.#tree.tokens.revoke(row, state, how, asked);
    this.#tree.arm();
    return ok({ kind: "revoked", accessor: fixed.accessor });
  }

  #unwrap(row: TokenRow, { take, asked }: Extract<TargetAction, { kind: "unwrap" }>, now: number): Result<Outcome> {
    const token = this.#tree.tokens.view(row, now);
    const sealed = isWrappingToken(token) ? this.#tree.cubbyhole.read(row.row, RESPONSE_PATH) : null;
    if (!sealed) return NOT_FOUND;
    if (take) this.#revoke(row, REVOKED, "unwrapped", asked);
    return ok({ kind: "wrapped", token, sealed });
  }

  #renew(action: Extract<TargetAction, { kind: "renew" }>, token: TokenView, now: number): Result<Outcome> {
    const refusal = refuseRenewal(token);
    if (refusal) return err(refusal);
    if ((token.role !== null || token.login !== null) && !action.terms) return ok({ kind: "needs_terms", token });
    const plan = planRenew(token, action.terms ?? ownTerms(token), action.increment, action.mount, now);
    if (!plan.ok) return plan;
    const { ttl, expiresAt, warnings } = plan.value;
    this.#tree.tokens.renew(token.row, ttl, expiresAt, now);
    this.#tree.arm();
    return ok({ kind: "renewed", token: { ...token, grantedTtl: ttl, expiresAt, renewedAt: now }, warnings });
  }
}

function matches({ fixed }: TokenRow, target: Exclude<Target, { by: "self" }>): boolean {
  switch (target.by) {
    case "token":
      return equalBytes(fixed.verifier, target.verifier);
    case "accessor":
      return equalBytes(fixed.accessorTail, target.tail);
    case "lease":
      return true;
  }
}
