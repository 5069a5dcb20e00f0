import { currentTime, type Ms } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { LOST } from "../base/platform-errors.ts";
import { err, NOT_FOUND, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import { loadActiveEntity } from "../identity/entity-copies.ts";
import type { FoundInTree, LeaseAction, LeaseOutcome, Unrevoked, WalkAnswer, WalkPurpose } from "../lease/actions.ts";
import type { Ending } from "../listing/inventory/ended-tokens.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import { findInInventory } from "../listing/inventory/queries.ts";
import type {
  CountCursor,
  CountedInTree,
  RevokedInTree,
  RevokeInTree,
  SelectedInTree,
} from "../listing/inventory/selection.ts";
import type { SingleTokenEnd } from "../listing/trees/single-token-walk.ts";
import type { ObjectPage } from "../storage/object-pages.ts";
import { type ObjectOrigin, type PageRefusal, StoredObject } from "../storage/stored-object.ts";
import { readVersions, type SchemaVersions } from "../storage/tables.ts";
import { loadInstallation, mustBeRestoring } from "../system/installation.ts";
import { isEnded } from "../system/watermarks.ts";
import {
  isTarget,
  type Outcome,
  refusedAnswer,
  type StoredTarget,
  type TargetAction,
  type TreeAnswer,
  type TreeCall,
} from "../token/actions.ts";
import { type Decided, decideAndAct } from "../token/decide.ts";
import type { TokenEnd } from "../token/end-record.ts";
import type { NewTokenIds, RowAndTail } from "../token/ids.ts";
import { auditAuth, type TokenSpec, type TokenView } from "../token/record.ts";
import { REVOKED_MEANWHILE } from "../token/rules/create.ts";
import { isNameOfTree } from "../token/tree-stub.ts";
import { writeAuditLine } from "../wire/audit.ts";
import type { CubbyholeValue } from "./cubbyhole.ts";
import { isReservationOld } from "./custom-ids.ts";
import type { TreeEnv } from "./env.ts";
import {
  accessorsAbove,
  accessorsFrom,
  type Lineage,
  lineageOf,
  pictureOf,
  type TreePicture,
  unsweptEnd,
} from "./lineage.ts";
import { countSelected, revokeFiltered } from "./revoke-selected.ts";
import type { TidyStep, TidyStepResult } from "./tidy/tidy-step.ts";
import { actOnToken, answerCall, findCaller, findLive, madeBefore, walkLeases, writeChild } from "./tree-actions.ts";
import { TreeMaintenance } from "./tree-maintenance.ts";
import { treeParts } from "./tree-parts.ts";

/** Unrevoked leases that one call counts. */
const MAX_LEASES = 10_000;

/**
 * A token tree: a token without a parent, and all its descendants. Methods that change something wait for the
 * installation, and then read and write without an `await` in between: the revocation of a subtree, the count of a use
 * and the check of an expiry are each one transaction.
 */
export class TokenTree extends StoredObject<TreeEnv> {
  protected override readonly takesPages = async () => {
    await mustBeRestoring(this.env);
    return { replaces: false, move: null };
  };
  #tree: Tree;

  constructor(ctx: DurableObjectState, env: TreeEnv) {
    const versions = readVersions(ctx.storage.sql);
    super(ctx, env, versions, (id) => isNameOfTree(env, ctx.id, id));
    this.#tree = assembleTree(ctx.storage, this.origin, env, versions);
    if (this.#tree.tokens.isCreated) ctx.blockConcurrencyWhile(() => this.#tree.maintenance.wake());
  }

  /**
   * Starts the tree with its first token and the first values in its cubbyhole. The list of accessors is updated later,
   * and no crash loses that update. Safe to repeat. An empty tree can be started again: nothing that was issued before is
   * valid then.
   *
   * @param ledger the shard that has recorded the id of the tree; null: none has. See `AllocatedTree`.
   * @param again true when this call is repeated. A token that an earlier attempt made may have been revoked since, and
   *   an empty tree does not know of it.
   * @returns "taken", with nothing done, when the tree is not empty, when a deleted token may have had the row number, or
   *   for a repeated call that finds no token: the caller allocates another id. `REVOKED_MEANWHILE` when a watermark
   *   ends the token.
   */
  async create(
    spec: TokenSpec,
    ids: NewTokenIds,
    ledger: number | null,
    values: readonly CubbyholeValue[] = [],
    again = false,
  ): Promise<Result<TokenView | "taken">> {
    if (!ids.seal) await this.#tree.keys.open(spec.record.watermark);
    const { keys, tokens, cubbyhole, inventory, life, maintenance } = this.#tree;
    const made = ids.seal ? null : madeBefore(tokens, ids, currentTime());
    if (made) return ok(made);
    if (again || isReservationOld(spec, ids.row, currentTime())) return ok("taken");
    if (!maintenance.release.isEmpty || ids.row <= tokens.floor) return ok("taken");
    if (isEnded(keys.watermarks(), "all", spec.record)) return err(REVOKED_MEANWHILE);
    tokens.begin();
    const token = tokens.insert(spec, ids, null);
    if (!token) return ok("taken");
    life.happened({ kind: "created", inLedger: ledger !== null, now: currentTime() });
    for (const { path, sealed } of values) cubbyhole.write(ids.row, path, sealed);
    inventory.started(spec, ids, ledger);
    maintenance.arm();
    return ok(token);
  }

  /** Revokes and sweeps the first token of the tree, in this row, which no client will ever receive. Safe to repeat. */
  abandon(row: number): Promise<void> {
    return this.#tree.maintenance.abandon(row);
  }

  /** Publishes the first token for the shard that allocated the tree's id. True when the id can be allocated again. */
  report(): Promise<boolean> {
    return this.#tree.maintenance.report();
  }

  /** Ends the only token of the tree when it has expired. See `TreeMaintenance.endSingleToken`. */
  endSingleToken(row: number): Promise<SingleTokenEnd> {
    return this.#opened(({ maintenance }) => maintenance.endSingleToken(row));
  }

  /**
   * Authenticates the caller, counts the use, evaluates the policies and then performs `call.action`: all that a
   * request does in the tree of its caller, in one call.
   *
   * @returns the caller with the outcome. The verdict is null when the request is refused. "unauthenticated" when no such
   *   token is alive. A failure of the action itself is the inner error, because the caller is authenticated.
   */
  async run(call: TreeCall): Promise<Result<TreeAnswer>> {
    this.env.deployment.moves?.accept();
    const loaded = await loadInstallation(this.env, call.watermark);
    if (!loaded.ok) return loaded;
    const installation = loaded.value;
    this.#tree.keys.use(installation);
    const find = (now: Ms) => findCaller(this.#tree, call, now);
    const loadEntity = (id: string) => loadActiveEntity(this.env, id);
    const answerTo = (decided: Decided<NonNullable<ReturnType<typeof find>>>): Result<TreeAnswer> => {
      const { caller, row } = decided.found;
      // 1.0.0-rc.1 sends no id of the call, so the tree can't know whether the first attempt has counted the use.
      if (call.again && call.callId === undefined && row && row.usesLeft > 0) return err(LOST);
      // Only the tree knows the token, and the audit line must be written before the request changes anything.
      if (call.line) writeAuditLine({ ...call.line, auth: auditAuth(caller, caller.accessor, "service") });
      return ok(answerCall(this.#tree, decided, call, installation.watermarks.newest));
    };
    const answer = await decideAndAct(installation, call, { find, loadEntity }, answerTo, refusedAnswer);
    if (answer) return answer;
    // The first attempt may have ended the token, and the sweep has deleted it.
    return err(call.again && !this.#tree.tokens.exists(call.row) ? LOST : UNAUTHENTICATED);
  }

  /** Performs an action on a token for a caller whose own tree allowed it. "not_found" when the target is not alive. */
  act(action: TargetAction, attempt: CallAttempt = {}): Promise<Result<Outcome>> {
    this.env.deployment.moves?.accept();
    return this.#opened((tree) => {
      const now = currentTime();
      const outcome = actOnToken(tree, action, null, now, attempt);
      if (action.kind === "lookup" && action.target.by === "token") findLive(tree, action.target.row, now);
      return outcome;
    });
  }

  /**
   * Why a token of this tree can't be used; null while it is alive. "gone" also after the sweep.
   *
   * @param watermark number of the caller's newest watermark, as in a request.
   */
  endOf(target: StoredTarget, watermark: number): Promise<TokenEnd | null> {
    return this.#opened(({ tokens }) => {
      const row = tokens.find(target.row);
      return row && isTarget(row.fixed, target) ? tokens.liveness.endOf(row, currentTime()) : "gone";
    }, watermark);
  }

  /**
   * Writes a child that a "create" action of this tree has planned, after the Worker has prepared what is outside the
   * tree, such as the reservation of a custom id. "not_found" when the parent is not alive any more.
   * `REVOKED_MEANWHILE` when a watermark ends the token. Safe to repeat with the same ids.
   */
  insert(spec: TokenSpec, ids: NewTokenIds, parent: number): Promise<Result<Outcome>> {
    return this.#opened((tree) => {
      if (!tree.tokens.live(parent, currentTime())) return NOT_FOUND;
      if (isEnded(tree.keys.watermarks(), "all", spec.record)) return err(REVOKED_MEANWHILE);
      const isLate = isReservationOld(spec, ids.row, currentTime()) && !tree.tokens.exists(ids.row);
      return isLate ? ok({ kind: "row_taken", above: tree.tokens.floor }) : writeChild(tree, spec, ids, parent, []);
    }, spec.record.watermark);
  }

  /** True while the token of this row is alive. Asked for the parent of a batch token. */
  isAlive(row: number): Promise<boolean> {
    return this.#opened((tree) => findLive(tree, row, currentTime()) !== null);
  }

  /** The state of a row: "dead" while it waits for the sweep, "absent" before it is written and after the sweep. */
  rowStatus(row: number): Promise<"alive" | "dead" | "absent"> {
    return this.#opened(({ tokens }) => {
      if (!tokens.exists(row)) return "absent";
      return tokens.live(row, currentTime()) ? "alive" : "dead";
    });
  }

  /** Inventory entries of the live tokens among `rows`. The size of the tree is published separately. */
  describe(rows: readonly number[]): Promise<InventoryEntry[]> {
    return this.#opened(({ tokens, inventory }) => {
      if (tokens.countBelow() > 0) inventory.sizeIsWanted();
      return inventory.describe(rows);
    });
  }

  /** The ancestors and descendants of a token of this tree; null when it is not alive. See `lineageOf`. */
  lineage(row: number, tail: Uint8Array, limit: number, after: number): Promise<Lineage | null> {
    return this.#opened((tree) => lineageOf(tree, { row, tail }, limit, after));
  }

  /** Rows of the live tokens among `tokens`. */
  aliveOf(tokens: readonly RowAndTail[]): Promise<number[]> {
    return this.#opened((tree) => {
      const now = currentTime();
      return tokens.filter((token) => tree.tokens.liveNamed(token, now)).map(({ row }) => row);
    });
  }

  /** Leases that are not revoked yet, of the tokens among `tokens` that are not alive. */
  unrevokedOf(tokens: readonly RowAndTail[]): Promise<Unrevoked> {
    return this.#opened((tree) => {
      const now = currentTime();
      const ended = tokens.filter((token) => !tree.tokens.liveNamed(token, now)).map(({ row }) => row);
      return tree.leases.store.unrevokedOf(ended, MAX_LEASES);
    });
  }

  /** How a dead token ended that is not swept yet; null when it is alive or not in this tree. */
  unsweptEnd(target: StoredTarget): Promise<Ending | null> {
    return this.#opened((tree) => unsweptEnd(tree, target));
  }

  /** A token with two levels below it; null when it is not alive. */
  picture(row: number, tail: Uint8Array): Promise<TreePicture | null> {
    return this.#opened((tree) => pictureOf(tree, { row, tail }));
  }

  /** Accessors of a token of this tree and of its nearest ancestors. */
  accessorsFrom(row: number): Promise<string[]> {
    return this.#opened((tree) => accessorsFrom(tree, row));
  }

  /** Counts a part of what a revocation in this tree would end. `from` null: the first part. See `countSelected`. */
  async countSelection(request: SelectedInTree, from: CountCursor | null): Promise<CountedInTree> {
    await this.#tree.keys.open();
    // Only the list stores the hour of the last use. It is asked about ancestors only if the filter tests that hour.
    const asked = request.filter?.unusedSince === undefined ? [] : accessorsAbove(this.#tree, request.tokens);
    const listed = await findInInventory(this.env, asked);
    const lastUses = new Map([...listed].map(([accessor, { lastUsed }]) => [accessor, lastUsed]));
    return countSelected(this.#tree, request, from, lastUses, currentTime());
  }

  /** `countSelection` by its name in 1.0.0-rc.1. Callers use this name as long as a tree can run that release. */
  countMeant(request: SelectedInTree, from: CountCursor | null): Promise<CountedInTree> {
    return this.countSelection(request, from);
  }

  /** Revokes tokens of this tree that a filter matched, with everything below them. Safe to repeat. */
  revokeFiltered({ sweptByCaller, ...request }: RevokeInTree): Promise<RevokedInTree> {
    return this.#opened((tree) => {
      const revoked = revokeFiltered(tree, request, currentTime());
      if (!request.dry && revoked.revoked > 0) tree.arm({ sweptByCaller });
      return revoked;
    });
  }

  /** Sweeps dead tokens, as many as one alarm would. Returns true when none is left. See `TreeMaintenance.sweep`. */
  sweep(): Promise<boolean> {
    return this.#tree.maintenance.sweep();
  }

  /** Sends all pending updates now. Once it returns, the lists have them, unless a shard did not answer. */
  publishUpdates(): Promise<void> {
    return this.#tree.inventory.publishAll();
  }

  /** Moves all pending updates into the queue of this isolate, for a caller that sends the queue. */
  enqueueUpdates(): Promise<void> {
    return this.#tree.inventory.enqueueAll();
  }

  /** Performs an action on a lease of this tree. "not_found" when the lease, or its holder, does not exist. */
  lease(action: LeaseAction, attempt: CallAttempt = {}): Promise<Result<LeaseOutcome>> {
    return this.#opened(({ leases, maintenance }) =>
      maintenance.release.keepingTables(() => leases.perform(action, attempt)),
    );
  }

  /**
   * Performs the part in this tree of a walk over a path prefix: revokes or checks the leases that it found, of tokens
   * and of secrets. Safe to repeat. The caller has the tree swept if the answer has `hasDead`.
   */
  walk(found: FoundInTree, purpose: WalkPurpose): Promise<WalkAnswer> {
    const walk = (tree: Tree) => tree.maintenance.release.keepingTables(() => walkLeases(tree, found, purpose));
    return this.#opened(walk, purpose.watermark ?? 0);
  }

  /** Performs one bounded step of a tidy run in this tree. See `TreeMaintenance.tidy`. */
  tidy(step: TidyStep): Promise<TidyStepResult> {
    return this.#opened(({ maintenance }) => maintenance.tidy(step));
  }

  override alarm(): Promise<void> {
    return this.#tree.maintenance.alarm();
  }

  /**
   * Writes pages of a backup (see `StoredObject.importPage`). Returns, after the last page, the inventory entry of a
   * tree's only token, for the caller to list. null when there are more pages, or when the tree itself publishes its
   * tokens later.
   */
  async restore(page: ObjectPage): Promise<Result<InventoryEntry | null, PageRefusal>> {
    const written = await this.importPage(page);
    if (!written.ok || !page.isLast) return written;
    const { storage } = this.ctx;
    this.#tree = assembleTree(storage, this.origin, this.env, readVersions(storage.sql));
    await this.#tree.keys.open();
    return ok(await this.#tree.maintenance.restored());
  }

  /** Loads the keys for seals of rows, then runs `work` on the parts of the tree. For `watermark` see `TreeKeys.open`. */
  async #opened<T>(work: (tree: Tree) => T | Promise<T>, watermark?: number): Promise<T> {
    await this.#tree.keys.open(watermark);
    return work(this.#tree);
  }
}

type Tree = ReturnType<typeof assembleTree>;

function assembleTree(storage: DurableObjectStorage, origin: ObjectOrigin, env: TreeEnv, versions: SchemaVersions) {
  const shared = treeParts(storage, origin, env, versions, (options) => maintenance.arm(options));
  const maintenance: TreeMaintenance = new TreeMaintenance(shared);
  return { ...shared, maintenance };
}
