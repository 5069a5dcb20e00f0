import { currentTime, earliest, type Ms } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { FoundInTree, WalkAnswer, WalkPurpose } from "../lease/actions.ts";
import type { Verdict } from "../policy/acl.ts";
import type { Actor, RevocationOrigin } from "../system/revocation-origin.ts";
import {
  type CallerAction,
  isTarget,
  type Outcome,
  type TargetAction,
  type TreeAnswer,
  type TreeCall,
} from "../token/actions.ts";
import type { Decided } from "../token/decide.ts";
import { type HowEnded, LIVE, REVOKED, REVOKED_ALONE, type RevokedState } from "../token/end-record.ts";
import type { NewTokenIds } from "../token/ids.ts";
import { isWrappingToken, type TokenSpec, type TokenView } from "../token/record.ts";
import { needsWorkerWrite, planCreate } from "../token/rules/create.ts";
import { ownTerms, planRenew, refuseRenewal } from "../token/rules/renew.ts";
import { RESPONSE_PATH } from "../wire/reply.ts";
import { knownToken } from "./known-tokens.ts";
import { isLeftToShard } from "./lifecycle.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeParts } from "./tree-parts.ts";

/** Actions that withdraw the published tokens of the tree. */
const WITHDRAWS: ReadonlySet<CallerAction["kind"]> = new Set(["renew", "revoke", "revoke_orphan"]);

/** An authenticated caller. `row` is null when its token was found among the published ones and not read. */
interface FoundCaller {
  readonly row: TokenRow | null;
  readonly caller: TokenView;
}

/** The caller, if its token is alive at `now` and the verifier matches; else null. */
export function findCaller(tree: TreeParts, call: TreeCall, now: Ms): FoundCaller | null {
  const { env, treeId, tokens, keys } = tree;
  const { row, verifier, action } = call;
  if (action?.kind === "create") {
    const known = knownToken(env.deployment.knownTokens, { treeId, row, verifier }, keys.watermarks(), now);
    if (known) return { row: null, caller: known };
  }
  const found = tokens.live(row, now) ?? endedByFirstAttempt(tree, row, call, now);
  if (!found || !equalBytes(found.fixed.verifier, verifier)) return null;
  return { row: found, caller: tokens.view(found, now) };
}

/** The token that an earlier attempt of this call has spent or ended, while nothing else ends it; else null. */
function endedByFirstAttempt(tree: TreeParts, row: number, attempt: CallAttempt, now: Ms): TokenRow | null {
  const { tokens, carriedOut } = tree;
  if (!attempt.again) return null;
  const found = tokens.find(row);
  if (!found || tokens.liveness.endOf({ ...found, state: LIVE }, now) !== null) return null;
  const isSpent = found.usesLeft < 0 && carriedOut.has(attempt, "use", row);
  return isSpent || carriedOut.has(attempt, "end", row) ? found : null;
}

/** The token of a row if it is alive at `now`; else null. Notes the time of its use and publishes it. */
export function findLive(tree: TreeParts, row: number, now: Ms): TokenRow | null {
  const found = tree.tokens.live(row, now);
  if (found) noteUse(tree, found, tree.tokens.view(found, now), now, true);
  return found;
}

/** Counts the use and performs the action of a request after its decision. One step, without an `await`. */
export function answerCall(
  tree: TreeParts,
  { found: { row, caller }, verdict, now }: Decided<FoundCaller>,
  call: TreeCall,
  watermark: number,
): TreeAnswer {
  const { action, malformed } = call;
  if (row?.state === LIVE) noteUse(tree, row, caller, now, action === null || !WITHDRAWS.has(action.kind));
  // A use counts as soon as the token is authenticated, also when the policies refuse the request. A malformed request
  // costs none: a mistake of a client must not end a wrapping token, and with it the answer that it holds.
  const counts = row !== null && row.usesLeft > 0 && !malformed && !tree.carriedOut.has(call, "use", row.row);
  if (counts) tree.carriedOut.add(call, "use", row.row);
  const usesLeft = counts ? tree.tokens.countUse(row.row, row.usesLeft, askerOf(caller)) : (row?.usesLeft ?? 0);
  if (usesLeft < 0) tree.arm();
  else if (counts) tree.inventory.changed(row.row);
  const used = { ...caller, usesLeft };
  if (!verdict) return { caller: used, verdict: null, outcome: null };
  const outcome = action && perform(tree, action, call, caller, row, verdict, watermark, now);
  return { caller: used, verdict, outcome };
}

/** The token with these ids, which an earlier attempt of a repeated call has made; null when none has. */
export function madeBefore(tokens: TreeParts["tokens"], { row, verifier }: NewTokenIds, now: Ms): TokenView | null {
  const found = tokens.live(row, now);
  return found && equalBytes(found.fixed.verifier, verifier) ? tokens.view(found, now) : null;
}

/**
 * Writes a child of `parent` and queues the update of the lists. "row_taken" when another token has its row number. Safe
 * to repeat with the same ids.
 */
export function writeChild(
  { life, tokens, inventory, arm }: TreeParts,
  spec: TokenSpec,
  ids: NewTokenIds,
  parent: number,
  warnings: readonly string[],
): Result<Outcome> {
  const token = tokens.insert(spec, ids, parent, isLeftToShard(life.now));
  if (!token) {
    const made = madeBefore(tokens, ids, currentTime());
    return ok(made ? { kind: "created", token: made, warnings } : { kind: "row_taken", above: tokens.floor });
  }
  inventory.born(ids.row, parent);
  arm();
  return ok({ kind: "created", token, warnings });
}

/** Notes the use of a token and publishes it. @param publishes false when the action withdraws published tokens. */
function noteUse(tree: TreeParts, found: TokenRow, view: TokenView, now: Ms, publishes: boolean): void {
  const { tokens, inventory, publisher, keys } = tree;
  inventory.used(found.row, now);
  if (!publishes) return;
  // The tree does not see the uses of a published token. It is withdrawn when the first use of the next hour is due.
  const until = () => earliest(tokens.liveness.aliveUntil(found, now), inventory.usedUntil(now));
  publisher.found(found, view, keys.watermarks(), until);
}

function perform(
  tree: TreeParts,
  action: CallerAction,
  attempt: CallAttempt,
  caller: TokenView,
  callerRow: TokenRow | null,
  verdict: Verdict,
  watermark: number,
  now: Ms,
): Result<Outcome> {
  switch (action.kind) {
    case "create": {
      const plan = planCreate(action, caller, verdict.sudo, watermark, now);
      if (!plan.ok) return plan;
      const { spec, warnings } = plan.value;
      if (!action.ids || needsWorkerWrite(spec, action.request)) return ok({ kind: "planned", spec, warnings });
      return writeChild(tree, spec, action.ids, caller.row, warnings);
    }
    case "cubbyhole_read":
    case "cubbyhole_list":
      return tree.cubbyhole.perform(action, caller.row, verdict);
    case "cubbyhole_write":
    case "cubbyhole_delete": {
      if (tree.carriedOut.has(attempt, "write", caller.row)) return ok({ kind: "done" });
      const done = tree.cubbyhole.perform(action, caller.row, verdict);
      if (done.ok) tree.carriedOut.add(attempt, "write", caller.row);
      return done;
    }
    case "revoke":
    case "revoke_orphan":
    case "unwrap":
      return actOnToken(tree, { ...action, asked: { ...action.asked, by: askerOf(caller) } }, callerRow, now, attempt);
    default:
      return actOnToken(tree, action, callerRow, now, attempt);
  }
}

/**
 * Performs an action in one step, without an `await`: each of several concurrent calls sees the changes of the others.
 * "not_found" when the target is not alive. `callerRow`: the row that the target "self" means; null when the caller is
 * not a token of this tree.
 */
export function actOnToken(
  tree: TreeParts,
  action: TargetAction,
  callerRow: TokenRow | null,
  now: Ms,
  attempt: CallAttempt,
): Result<Outcome> {
  const { tokens } = tree;
  const { target } = action;
  const row =
    target.by === "self"
      ? callerRow
      : (tokens.live(target.row, now) ?? endedByFirstAttempt(tree, target.row, attempt, now));
  if (!row || !isTarget(row.fixed, target)) return NOT_FOUND;
  switch (action.kind) {
    case "lookup":
      return ok({ kind: "token", token: tokens.view(row, now) });
    case "revoke":
      return revoke(tree, row, REVOKED, "revoked", action.asked, attempt);
    case "revoke_orphan":
      return revoke(tree, row, REVOKED_ALONE, "revoked", action.asked, attempt);
    case "renew":
      return renew(tree, action, tokens.view(row, now), now);
    case "unwrap":
      return unwrap(tree, row, action, now, attempt);
  }
}

/**
 * Performs a step of a walk over a path prefix on the leases that it found in this tree, of tokens and of secrets.
 * Unless the mode is `tidy`, all of them end at once. See `TreeLeases.walk`.
 */
export async function walkLeases(
  { tokens, leases, arm }: TreeParts,
  found: FoundInTree,
  { mode, watermark, asked }: WalkPurpose,
): Promise<WalkAnswer> {
  const unknownTokens: number[] = [];
  for (const { row, tail } of found.tokens) {
    const token = tokens.find(row);
    // A row with an invalid seal is no token, but other tokens may be below it.
    const isForged = !token && tokens.exists(row);
    if (!isForged && (!token || !equalBytes(token.fixed.accessorTail, tail))) unknownTokens.push(row);
    else if (watermark !== null) tokens.revokeEnded(row, row);
    else if (mode !== "tidy" && (!token || (token.state === LIVE && token.fixed.record.leased)))
      tokens.revoke(row, REVOKED, "revoked by path or entity", asked);
  }
  // `leases.walk` ends leases before its first await, so `arm` and the next sweep see tokens and leases of one moment.
  const secrets = leases.walk(found.secrets, mode);
  arm({ sweptByCaller: true });
  const now = currentTime();
  const sweepAt = tokens.liveness.nextSweepAt(now);
  const hasDead = mode !== "tidy" && sweepAt !== null && sweepAt <= now;
  return { unknownTokens, hasDead, ...(await secrets) };
}

function revoke(
  { tokens, carriedOut, arm }: TreeParts,
  { row, fixed }: TokenRow,
  state: RevokedState,
  how: HowEnded,
  asked: RevocationOrigin,
  attempt: CallAttempt,
): Result<Outcome> {
  tokens.revoke(row, state, how, asked);
  carriedOut.add(attempt, "end", row);
  arm();
  return ok({ kind: "revoked", accessor: fixed.accessor });
}

type Action<K extends TargetAction["kind"]> = Extract<TargetAction, { kind: K }>;

function unwrap(
  tree: TreeParts,
  row: TokenRow,
  { take, asked }: Action<"unwrap">,
  now: Ms,
  attempt: CallAttempt,
): Result<Outcome> {
  const token = tree.tokens.view(row, now);
  const sealed = isWrappingToken(token) ? tree.cubbyhole.read(row.row, RESPONSE_PATH) : null;
  if (!sealed) return NOT_FOUND;
  if (take) revoke(tree, row, REVOKED, "unwrapped", asked, attempt);
  return ok({ kind: "wrapped", token, sealed });
}

function renew(
  { tokens, inventory, arm }: TreeParts,
  { terms, increment, mount }: Action<"renew">,
  token: TokenView,
  now: Ms,
): Result<Outcome> {
  const refusal = refuseRenewal(token);
  if (refusal) return err(refusal);
  if ((token.role !== null || token.login !== null) && !terms) return ok({ kind: "needs_terms", token });
  const plan = planRenew(token, terms ?? ownTerms(token), increment, mount, now);
  if (!plan.ok) return plan;
  const { ttl, expiresAt, warnings } = plan.value;
  tokens.renew(token.row, ttl, expiresAt, now);
  inventory.changed(token.row);
  arm();
  return ok({ kind: "renewed", token: { ...token, grantedTtl: ttl, expiresAt, renewedAt: now }, warnings });
}

function askerOf({ accessor, displayName, entityId }: TokenView): Actor {
  return { accessor, displayName, entityId };
}
