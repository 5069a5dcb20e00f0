import { earliest } from "../base/clock.ts";
import { DENIED, err, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Verdict } from "../policy/acl.ts";
import type { Asker } from "../system/end-request.ts";
import type { CallerAction, Outcome, TreeAnswer, TreeCall } from "../token/actions.ts";
import type { Decided } from "../token/decide.ts";
import type { NewTokenIds } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import { isMadeElsewhere, planChild } from "../token/rules/create.ts";
import { cubbyholeProblem } from "./cubbyhole/limits.ts";
import type { CubbyholeStore, CubbyholeValue } from "./cubbyhole/store.ts";
import { knownToken } from "./known-tokens.ts";
import type { SharedParts } from "./shared-parts.ts";
import type { TokenRow } from "./token-rows.ts";
import type { TreeTargets } from "./tree-targets.ts";

/** Actions that withdraw the published tokens of the tree. */
const WITHDRAWS: ReadonlySet<CallerAction["kind"]> = new Set(["renew", "revoke", "revoke_orphan"]);

/** An authenticated caller. `row` is null when its token was found among the published ones and not read. */
interface FoundCaller {
  readonly row: TokenRow | null;
  readonly caller: TokenView;
}

/** Answers requests whose token is in this tree, and writes its new tokens. */
export class TreeCallers {
  readonly #tree: SharedParts;
  readonly #targets: TreeTargets;

  constructor(tree: SharedParts, targets: TreeTargets) {
    this.#tree = tree;
    this.#targets = targets;
  }

  /** The caller, if its token is alive at `now` (ms) and the verifier matches; else null. */
  find({ row, verifier, action }: TreeCall, now: number): FoundCaller | null {
    const { treeId, tokens, keys } = this.#tree;
    if (action?.kind === "create") {
      const known = knownToken({ treeId, row, verifier }, keys.watermarks(), now);
      if (known) return { row: null, caller: known };
    }
    const found = tokens.live(row, now);
    if (!found || !equalBytes(found.fixed.verifier, verifier)) return null;
    return { row: found, caller: tokens.view(found, now) };
  }

  /** The token of a row if it is alive at `now` (ms); else null. Notes the time of its use and publishes it. */
  findLive(row: number, now: number): TokenRow | null {
    const { tokens } = this.#tree;
    const found = tokens.live(row, now);
    if (found) this.#used(found, tokens.view(found, now), now, true);
    return found;
  }

  /** Counts the use and performs the action of a request after its decision. One step, without an `await`. */
  answer({ found, verdict, now }: Decided<FoundCaller>, call: TreeCall, watermark: number): TreeAnswer {
    const { row, caller } = found;
    const { action } = call;
    if (row) this.#used(row, caller, now, action === null || !WITHDRAWS.has(action.kind));
    // A use counts as soon as the token is authenticated, also when the policies refuse the request.
    const usesLeft =
      !row || row.uses_left === 0 ? 0 : this.#tree.tokens.countUse(row.row, row.uses_left, askerOf(caller));
    if (usesLeft < 0) this.#tree.arm();
    const used = { ...caller, usesLeft };
    if (!verdict) return { caller: used, verdict: null, outcome: null };
    const outcome = action && this.#perform(action, caller, row, verdict, watermark, now);
    return { caller: used, verdict, outcome };
  }

  /**
   * Writes the first token of the tree with the first values in its cubbyhole, and queues the update of the lists.
   *
   * @param allocatedBy see `TreeUpdates.started`.
   * @returns null, with nothing written, when its row number is taken.
   */
  start(
    spec: TokenSpec,
    ids: NewTokenIds,
    values: readonly CubbyholeValue[],
    allocatedBy: number | null,
  ): TokenView | null {
    const { tokens, cubbyhole, inventory, arm } = this.#tree;
    if (!tokens.insert(spec, ids, null)) return null;
    for (const { path, sealed } of values) cubbyhole.write(ids.row, path, sealed);
    inventory.started(spec, ids, allocatedBy);
    arm();
    return this.#viewOf(spec, ids, true);
  }

  /** Writes a child of `parent` and queues the update of the lists. "row_taken" when its row number is taken. */
  insert(spec: TokenSpec, ids: NewTokenIds, parent: number, warnings: readonly string[]): Result<Outcome> {
    const { tokens, inventory, arm } = this.#tree;
    if (!tokens.insert(spec, ids, parent)) return ok({ kind: "row_taken", above: tokens.floor });
    inventory.born(ids.row, parent);
    arm();
    return ok({ kind: "created", token: this.#viewOf(spec, ids, false), warnings });
  }

  /** The view of a token that was just written. */
  #viewOf({ record, expiresAt }: TokenSpec, { row, accessor }: NewTokenIds, orphan: boolean): TokenView {
    return {
      ...record,
      treeId: this.#tree.treeId,
      row,
      accessor,
      orphan,
      usesLeft: record.numUses,
      grantedTtl: record.creationTtl,
      expiresAt,
      renewedAt: null,
    };
  }

  /** Notes the use of a token and publishes it. @param publishes false when the action withdraws published tokens. */
  #used(found: TokenRow, view: TokenView, now: number, publishes: boolean): void {
    const { tokens, inventory, publisher, keys } = this.#tree;
    inventory.used(found.row, now);
    if (!publishes) return;
    // The tree does not see the uses of a published token. It is withdrawn when the first use of the next hour is due.
    const until = () => earliest(tokens.aliveUntil(found, now), inventory.usedUntil(now));
    publisher.found(found, view, keys.watermarks(), until);
  }

  #perform(
    action: CallerAction,
    caller: TokenView,
    callerRow: TokenRow | null,
    verdict: Verdict,
    watermark: number,
    now: number,
  ): Result<Outcome> {
    switch (action.kind) {
      case "create":
        return this.#create(action, caller, verdict, watermark, now);
      case "cubbyhole_read":
      case "cubbyhole_list":
      case "cubbyhole_write":
      case "cubbyhole_delete":
        return performCubbyhole(this.#tree.cubbyhole, action, caller.row, verdict);
      case "revoke":
      case "revoke_orphan":
      case "unwrap": {
        const asked = { ...action.asked, by: askerOf(caller) };
        return this.#targets.perform({ ...action, asked }, callerRow, now);
      }
      default:
        return this.#targets.perform(action, callerRow, now);
    }
  }

  #create(
    action: Extract<CallerAction, { kind: "create" }>,
    caller: TokenView,
    verdict: Verdict,
    watermark: number,
    now: number,
  ): Result<Outcome> {
    const plan = planChild(action, caller, verdict.sudo, watermark, now);
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    if (!action.ids || isMadeElsewhere(spec, action.request)) return ok({ kind: "planned", spec, warnings });
    return this.insert(spec, action.ids, caller.row, warnings);
  }
}

function askerOf({ accessor, displayName, entityId }: TokenView): Asker {
  return { accessor, displayName, entityId };
}

type CubbyholeAction = Extract<CallerAction, { kind: `cubbyhole_${string}` }>;

/** Performs an action on the cubbyhole of the token `row`, whose policies gave `verdict`. */
function performCubbyhole(
  store: CubbyholeStore,
  action: CubbyholeAction,
  row: number,
  verdict: Verdict,
): Result<Outcome> {
  switch (action.kind) {
    case "cubbyhole_read": {
      const sealed = store.read(row, action.path);
      return sealed ? ok({ kind: "value", sealed }) : NOT_FOUND;
    }
    case "cubbyhole_list": {
      const limit = Math.min(verdict.limit || action.limit, action.limit);
      return ok({ kind: "keys", keys: store.list(row, action.prefix, action.after, limit) });
    }
    case "cubbyhole_write": {
      const exists = store.read(row, action.path) !== null;
      if (exists ? !verdict.update : !verdict.create) return err(DENIED);
      const problem = cubbyholeProblem(store.others(row, action.path), action.path.length + action.sealed.length);
      if (problem) return err(problem);
      store.write(row, action.path, action.sealed);
      return ok({ kind: "done" });
    }
    case "cubbyhole_delete":
      store.delete(row, action.path);
      return ok({ kind: "done" });
  }
}
