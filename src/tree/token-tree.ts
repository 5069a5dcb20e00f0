import { currentTime } from "../base/clock.ts";
import { err, NOT_FOUND, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import { loadActiveEntity } from "../identity/standing.ts";
import type { FoundInTree, LeaseAction, LeaseOutcome, WalkAnswer, WalkPurpose } from "../lease/actions.ts";
import type { SingleTokenEnd } from "../listing/expiry/single-token-walk.ts";
import type { InventoryEntry } from "../listing/inventory/entry.ts";
import { findInInventory } from "../listing/inventory/queries.ts";
import type {
  CountCursor,
  CountedInTree,
  MeantInTree,
  RevokedInTree,
  RevokeInTree,
} from "../listing/inventory/selection.ts";
import type { Ending } from "../listing/inventory/shard/ended.ts";
import type { ObjectPage } from "../storage/object-pages.ts";
import { type PageRefusal, StoredObject } from "../storage/stored-object.ts";
import { readVersions } from "../storage/tables.ts";
import { loadInstallationSince, takesPages } from "../system/installation.ts";
import { isEnded } from "../system/watermarks.ts";
import type { Outcome, Target, TargetAction, TreeAnswer, TreeCall } from "../token/actions.ts";
import { auditAuth } from "../token/audit-auth.ts";
import { findAndDecide } from "../token/decide.ts";
import type { NewTokenIds, RowAndTail } from "../token/ids.ts";
import type { TokenSpec, TokenView } from "../token/record.ts";
import { REVOKED_MEANWHILE } from "../token/rules/create.ts";
import type { TokenEnd } from "../token/state.ts";
import { writeAuditLine } from "../wire/audit.ts";
import { countMeant } from "./count-meant.ts";
import type { CubbyholeValue } from "./cubbyhole/store.ts";
import type { TreeEnv } from "./env.ts";
import type { Lineage, TreePicture } from "./lineage.ts";
import { revokeFiltered } from "./meant-tokens.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import { nothingHere } from "./tidy/tree-tidy.ts";
import { assembleTree, type TreeParts } from "./tree-parts.ts";
import { unsweptEnd } from "./unswept-end.ts";

/** The answer for every token that can't be used, whatever the reason. */
const REFUSED = err(UNAUTHENTICATED);

/**
 * A token tree: a token without a parent, and everything created from it. Cascade, use counts and expiry of the tree are
 * each one transaction here.
 *
 * Methods that change something do all their reading and writing without an `await` in between, which makes them one
 * transaction; what they wait for (the installation) comes before.
 */
export class TokenTree extends StoredObject<TreeEnv> {
  protected override readonly takesPages = () => takesPages(this.env);
  #tree: TreeParts;

  constructor(ctx: DurableObjectState, env: TreeEnv) {
    const versions = readVersions(ctx.storage.sql);
    super(ctx, env, versions);
    this.#tree = assembleTree(ctx.storage, this.origin, env, versions);
    if (this.#tree.tokens.isCreated) ctx.blockConcurrencyWhile(() => this.#tree.upkeep.wake());
  }

  /**
   * Starts the tree with its first token, and what it keeps from the beginning. The list of accessors is notified later, whatever
   * ends in between. A tree of which nothing is left can be started again: nothing that was issued in its previous life is good.
   *
   * @param allocatedBy the shard that handed out the id of the tree; null: none did.
   * @returns "taken", with nothing done, when something is left in the tree, or the row may have been a token's before: another id
   *   has to be allocated.
   */
  async create(
    spec: TokenSpec,
    ids: NewTokenIds,
    allocatedBy: number | null,
    cubbyhole: readonly CubbyholeValue[] = [],
  ): Promise<Result<TokenView | "taken">> {
    if (!ids.seal) await this.#tree.keys.open(spec.record.watermark);
    if (!this.#tree.end.isEmpty || ids.row <= this.#tree.tokens.floor) return ok("taken");
    if (isEnded(this.#tree.keys.watermarks(), "all", spec.record)) return err(REVOKED_MEANWHILE);
    this.#tree.end.taken();
    this.#tree.single.created(allocatedBy);
    this.#tree.tokens.begin();
    return ok(this.#tree.callers.start(spec, ids, cubbyhole, allocatedBy) ?? "taken");
  }

  /** Ends a tree whose first token, the one in this row, no client will ever have. Safe to repeat. */
  async abandon(row: number): Promise<void> {
    await this.#tree.upkeep.abandon(row);
  }

  /** Lists the first token for the shard that allocated the id of this tree. True when the tree can be allocated again. */
  async report(): Promise<boolean> {
    return this.#tree.upkeep.report();
  }

  /** Ends the only token of the tree when its time is over. See `TreeUpkeep.endSingleToken`. */
  endSingleToken(row: number): Promise<SingleTokenEnd> {
    return this.#opened(({ upkeep }) => upkeep.endSingleToken(row));
  }

  /**
   * Checks the caller's token, counts the use, lets the policies decide and then performs `call.action`: everything that a
   * request does in its own tree in one call.
   *
   * @returns the caller with the outcome, also when the policies refuse: then without a verdict. "unauthenticated" for every
   *   token that can't be used. A failure of the action itself is the inner error: by then the caller is known.
   */
  async run(call: TreeCall): Promise<Result<TreeAnswer>> {
    const loaded = await loadInstallationSince(this.env, call.watermark);
    if (!loaded.ok) return loaded;
    const installation = loaded.value;
    this.#tree.keys.use(installation);
    const source = {
      find: (now: number) => this.#tree.callers.find(call, now),
      loadEntity: (id: string) => loadActiveEntity(this.env, id),
    };
    const answer = await findAndDecide(installation, call, source, (decided) => {
      const { caller } = decided.found;
      // Only the tree knows the token, and the line is to be written before anything is done.
      if (call.line) writeAuditLine({ ...call.line, auth: auditAuth(caller, caller.accessor, "service") });
      return ok(this.#tree.callers.answer(decided, call, installation.watermarks.newest));
    });
    return answer ?? REFUSED;
  }

  /**
   * Performs an action on a token of this tree for a caller whose own tree already allowed it.
   *
   * @returns "not_found" when the target is not alive.
   */
  async act(action: TargetAction): Promise<Result<Outcome>> {
    await this.#tree.keys.open();
    const now = currentTime();
    const outcome = this.#tree.targets.perform(action, null, now);
    if (action.kind === "lookup" && action.target.by === "token") this.#tree.callers.findLive(action.target.row, now);
    return outcome;
  }

  /** Why a token of this tree can't be used; null while it is alive. "gone" after the sweep, too. */
  endOf(target: Exclude<Target, { by: "self" }>): Promise<TokenEnd | null> {
    return this.#opened(({ targets }) => targets.endOf(target, currentTime()));
  }

  /**
   * Writes a token that was planned here before, now that everything outside this tree is ready for it.
   *
   * @returns "not_found" when the parent has died since.
   */
  async insert(spec: TokenSpec, ids: NewTokenIds, parent: number): Promise<Result<Outcome>> {
    await this.#tree.keys.open(spec.record.watermark);
    if (!this.#tree.tokens.live(parent, currentTime())) return NOT_FOUND;
    if (isEnded(this.#tree.keys.watermarks(), "all", spec.record)) return err(REVOKED_MEANWHILE);
    return this.#tree.callers.insert(spec, ids, parent, []);
  }

  /** True while the token of this row is alive: what the life of a batch token depends on. */
  isAlive(row: number): Promise<boolean> {
    return this.#opened(({ callers }) => callers.findLive(row, currentTime()) !== null);
  }

  /** What has become of a row: "dead" while it waits for the sweep, "absent" before it is written and after the sweep. */
  rowStatus(row: number): Promise<"alive" | "dead" | "absent"> {
    return this.#opened(({ tokens }) => {
      if (!tokens.exists(row)) return "absent";
      return tokens.live(row, currentTime()) ? "alive" : "dead";
    });
  }

  /** What the inventory keeps of those of the rows that are alive. The size of the tree follows by itself. */
  describe(rows: readonly number[]): Promise<InventoryEntry[]> {
    return this.#opened(({ tokens, inventory }) => {
      if (tokens.countBelow() > 0) inventory.sizeIsWanted();
      return inventory.describe(rows);
    });
  }

  /** Who made a token of this tree and what hangs below it; null when it is not alive. See `TreeLineage.of`. */
  lineage(row: number, tail: Uint8Array, limit: number, after: number): Promise<Lineage | null> {
    return this.#opened(({ lineage }) => lineage.of(row, tail, limit, after));
  }

  /** Rows of those of the tokens that are alive. */
  aliveOf(tokens: readonly RowAndTail[]): Promise<number[]> {
    return this.#opened((tree) => {
      const now = currentTime();
      return tokens.flatMap(({ row, tail }) => {
        const token = tree.tokens.live(row, now);
        return token && equalBytes(token.fixed.accessorTail, tail) ? [row] : [];
      });
    });
  }

  /** How a token ended that its tree has not swept yet; null when it is alive, or not here. */
  unsweptEnd(row: number, tail: Uint8Array): Promise<Ending | null> {
    return this.#opened(({ tokens, keys }) => {
      const token = tokens.find(row);
      return token && equalBytes(token.fixed.accessorTail, tail)
        ? unsweptEnd(tokens, keys.watermarks(), token, currentTime())
        : null;
    });
  }

  /** A token with two levels below it; null when it is not alive. */
  picture(row: number, tail: Uint8Array): Promise<TreePicture | null> {
    return this.#opened(({ lineage }) => lineage.picture(row, tail));
  }

  /** Accessors of a token of this tree and of its nearest ancestors. */
  accessorsFrom(row: number): Promise<string[]> {
    return this.#opened(({ lineage }) => lineage.accessorsFrom(row));
  }

  /** Counts what a revocation of tokens of this tree would end, from `from` on (null: from the beginning). See `countMeant`. */
  async countMeant(request: MeantInTree, from: CountCursor | null): Promise<CountedInTree> {
    await this.#tree.keys.open();
    // The hour of the last use is the list's: of tokens above, only a filter by it makes it worth asking.
    const asked = request.filter?.unusedSince === undefined ? [] : this.#accessorsAbove(request.tokens);
    const listed = await findInInventory(this.env, asked);
    const lastUses = new Map([...listed].map(([accessor, { lastUsed }]) => [accessor, lastUsed]));
    return countMeant(this.#tree, request, from, lastUses, currentTime());
  }

  #accessorsAbove(tokens: readonly RowAndTail[]): string[] {
    const rows = new Set(tokens.flatMap(({ row }) => this.#tree.lineage.rowsAbove(row)));
    return [...rows].flatMap((row) => this.#tree.tokens.accessorOf(row) ?? []);
  }

  /** Revokes tokens of this tree that a filter matched, with everything below them. Safe to repeat. */
  async revokeFiltered({ sweptByCaller, ...request }: RevokeInTree): Promise<RevokedInTree> {
    await this.#tree.keys.open();
    const revoked = revokeFiltered(this.#tree, request, currentTime());
    const { upkeep } = this.#tree;
    if (request.dry) return revoked;
    if (revoked.revoked > 0 && sweptByCaller) upkeep.armBehindSweep();
    else if (revoked.revoked > 0) upkeep.arm();
    return revoked;
  }

  /** Sweeps what is dead, as far as one alarm does, for a caller who waits so that not too many trees sweep at a time. See `TreeUpkeep.sweep`. */
  async sweep(): Promise<boolean> {
    return this.#tree.upkeep.sweep();
  }

  /** Sends all updates to the lists now: from the answer on the lists have them, unless one does not answer. */
  async publishUpdates(): Promise<void> {
    await this.#tree.inventory.publishAll();
  }

  /** Puts all updates into the queue of this isolate, for a caller that sends it. */
  async enqueueUpdates(): Promise<void> {
    await this.#tree.inventory.enqueueAll();
  }

  /** Performs an action on a lease of this tree. "not_found" when the lease, or its holder, is not there. */
  async lease(action: LeaseAction): Promise<Result<LeaseOutcome>> {
    await this.#tree.keys.open();
    return this.#tree.tokens.isCreated ? this.#tree.leases.perform(action) : NOT_FOUND;
  }

  /**
   * Does to leases of this tree, of tokens and of secrets, what a walk over a path prefix is for. Safe to repeat. The caller has
   * what died of it swept.
   */
  async walk(found: FoundInTree, purpose: WalkPurpose): Promise<WalkAnswer> {
    await this.#tree.keys.open(purpose.watermark ?? 0);
    return this.#tree.leases.walk(found, purpose);
  }

  /** Performs one bounded step of a tidy run here. Requests are served between the steps, and within one while it calls a shard. */
  tidy(step: TidyStep): Promise<TidyStepResult> {
    return this.#opened(({ tokens, upkeep }) => (tokens.isCreated ? upkeep.tidy(step) : nothingHere(step)));
  }

  override async alarm(): Promise<void> {
    await this.#tree.upkeep.alarm();
  }

  /**
   * Writes pages of a backup, all of them or the next one. See `StoredObject.importPage`.
   *
   * @returns what the list keeps of the token of a tree of one; null where the tree has itself listed later.
   */
  async restore(page: ObjectPage): Promise<Result<InventoryEntry | null, PageRefusal>> {
    const written = await this.importPage(page);
    if (!written.ok || !page.isLast) return written;
    const { sql } = this.ctx.storage;
    this.#tree = assembleTree(this.ctx.storage, this.origin, this.env, readVersions(sql));
    await this.#tree.keys.open();
    return ok(await this.#tree.upkeep.restored());
  }

  /** Gets the keys for seals of rows, and then works with the parts of the tree. */
  async #opened<T>(work: (tree: TreeParts) => T | Promise<T>): Promise<T> {
    await this.#tree.keys.open();
    return work(this.#tree);
  }
}
