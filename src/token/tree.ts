import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../clock.ts";
import { equalBytes } from "../crypto/bytes.ts";
import { cubbyholeProblem } from "../cubbyhole/limits.ts";
import { CubbyholeStore, type CubbyholeValue } from "../cubbyhole/store.ts";
import type { Env } from "../env.ts";
import { DENIED, type Failure, UNAUTHENTICATED } from "../errors.ts";
import type { EntityView } from "../identity/model.ts";
import { standingOf } from "../identity/standing.ts";
import type { FoundInTree, LeaseAction, LeaseOutcome, RowAndTail, WalkAnswer, WalkMode } from "../lease/actions.ts";
import { TreeLeases } from "../lease/tree-leases.ts";
import type { Verdict } from "../policy/acl.ts";
import { err, ok, type Result } from "../result.ts";
import { authorize } from "../sys/access.ts";
import { loadInstallation } from "../sys/installation.ts";
import { RESPONSE_PATH } from "../wrapping/answer.ts";
import { isWrappingToken } from "../wrapping/token.ts";
import { accessorShard, accessorShardNumber } from "./accessor-shard.ts";
import type { CallerAction, Outcome, Target, TargetAction, TreeAnswer, TreeCall } from "./actions.ts";
import { customIdsOf } from "./custom-ids.ts";
import { type NewTokenIds, routedIdText } from "./ids.ts";
import { indexPath, type TokenSpec, type TokenView } from "./record.ts";
import { addressAllowed } from "./rules/address.ts";
import { planCreate } from "./rules/create.ts";
import { ownTerms, planRenew, refuseRenewal } from "./rules/renew.ts";
import { deleteVictims, nextVictims, type Victim } from "./sweep.ts";
import type { TidyStep, TidyStepResult } from "./tidy/step.ts";
import { nothingHere, TreeTidy } from "./tidy/tree-tidy.ts";
import { REVOKED, REVOKED_ALONE, type TokenRow, TreeStore } from "./tree-store.ts";

/** Rows that one step of the sweep works on: a few ms, so that requests to the tree wait no longer than that. */
const SWEEP_ROWS = 250;
/**
 * Pause between two steps. Without one the runtime prefers the sweep to requests that came meanwhile: they would wait until
 * all is swept.
 */
const SWEEP_PAUSE_MS = 5;
/** Steps of one alarm. What is left is the next alarm's, so that a crash never repeats much. */
const SWEEP_STEPS = 64;

/** An alarm that should have come this long ago will not come any more. */
const LOST_ALARM_MS = 600_000;

/** Pause after a step that failed, for example because a shard did not answer. */
const SWEEP_RETRY_MS = 30_000;

/** The platform takes no alarm after 2189, and a token may outlive that. */
const LATEST_ALARM_MS = Date.UTC(2189, 0, 1);

/** What one step of the sweep did. */
interface SweepStep {
  readonly swept: number;
  readonly done: boolean;
}

/** What the list of accessors said to a new token; it refuses those of a mount that is being disabled. */
type Listing = "listed" | "refused" | "failed";

/** The answer for every token that can't be used, whatever the reason. */
const REFUSED = err(UNAUTHENTICATED);
const NOT_FOUND = err({ code: "not_found" } as const);
const NOT_STORED: Failure = {
  code: "unavailable",
  message: "the token could not be stored; try again",
  retryAfterSeconds: 1,
};

/**
 * A token tree: a token without a parent, and everything created from it. Cascade, use counts and expiry of the tree are
 * each one transaction here.
 *
 * Methods that change something do all their reading and writing without an `await` in between, which makes them one
 * transaction; what they wait for (the installation) comes before.
 */
export class TokenTree extends DurableObject<Env> {
  readonly #treeId: string;
  readonly #sql: SqlStorage;
  readonly #store: TreeStore;
  readonly #cubbyhole: CubbyholeStore;
  readonly #leases: TreeLeases;
  readonly #tidy: TreeTidy;
  /** Steps of tidy runs that are under way. */
  #tidying = 0;
  /** When the alarm is set for (ms), or null. */
  #alarmAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#treeId = ctx.id.toString();
    this.#sql = ctx.storage.sql;
    this.#store = new TreeStore(this.#sql, this.#treeId);
    this.#cubbyhole = new CubbyholeStore(this.#sql);
    this.#leases = new TreeLeases({
      env,
      sql: this.#sql,
      treeId: this.#treeId,
      tokens: this.#store,
      arm: () => this.#arm(),
    });
    this.#tidy = new TreeTidy({
      env,
      sql: this.#sql,
      treeId: this.#treeId,
      tokens: this.#store,
      endLeasesOf: (rows, limit) => this.#leases.endSomeOf(rows, limit),
    });
    if (this.#store.isPlanted) {
      ctx.blockConcurrencyWhile(async () => {
        this.#store.refresh();
        this.#leases.refresh();
        // An alarm can be lost to a restore or to a fault of the platform; the rows say when it is due.
        const alarm = await ctx.storage.getAlarm();
        const lost = alarm !== null && alarm < currentTime() - LOST_ALARM_MS;
        this.#alarmAt = lost ? null : alarm;
        this.#arm();
      });
    }
  }

  /** Starts the tree with its first token, and what it keeps from the beginning. Answers when the token and its entry in the list of accessors are durable. */
  async plant(
    spec: TokenSpec,
    ids: NewTokenIds,
    cubbyhole: readonly CubbyholeValue[] = [],
  ): Promise<Result<TokenView, Failure>> {
    if (this.#store.isPlanted) throw new Error("a tree is planted once");
    const listed = this.#list(spec, ids);
    this.#store.insert(spec, ids, null);
    for (const { path, sealed } of cubbyhole) this.#cubbyhole.write(ids.row, path, sealed);
    this.#arm();
    return this.#confirm(listed, spec, ids, true);
  }

  /**
   * Checks the caller's token, counts the use, lets the policies decide and then performs `call.action`: everything that a
   * request does in its own tree in one call.
   *
   * @returns the caller with the outcome; "unauthenticated" for every token that can't be used, "permission_denied" for
   *   every refusal.
   *   A failure of the action itself is the inner error: by then the caller is known.
   */
  async run(call: TreeCall): Promise<Result<TreeAnswer, Failure>> {
    const loaded = await loadInstallation(this.env);
    if (!loaded.ok) return loaded;
    const installation = loaded.value;
    let now = currentTime();
    let known = this.#authenticate(call, now);
    if (!known) return REFUSED;
    let entity: EntityView | null = null;
    if (known.caller.entityId !== "") {
      const standing = await standingOf(this.env, known.caller.entityId);
      if (!standing.ok) return standing;
      entity = standing.value;
      // Others were served while this waited, so what was read before is not true any more.
      now = currentTime();
      known = this.#authenticate(call, now);
      if (!known) return REFUSED;
    }
    const { row, caller } = known;

    // A use counts as soon as the token was good, also when the policies refuse the request.
    const usesLeft = row.uses_left === 0 ? 0 : this.#store.countUse(row.row, row.uses_left);
    if (usesLeft < 0) this.#arm();
    const used = { ...caller, usesLeft };
    const allowed = authorize(installation, caller, entity, call.access, now);
    if (!allowed.ok) return allowed;
    const verdict = allowed.value;
    const outcome = call.action && (await this.#perform(call.action, caller, row, verdict, now));
    return ok({ caller: used, verdict, outcome });
  }

  /**
   * Performs an action on a token of this tree for a caller whose own tree already allowed it.
   *
   * @returns "not_found" when the target is not alive.
   */
  async act(action: TargetAction): Promise<Result<Outcome, Failure>> {
    return this.#onTarget(action, null, currentTime());
  }

  /**
   * Writes a token that was planned here before, now that everything outside this tree is ready for it.
   *
   * @returns "not_found" when the parent has died since.
   */
  async insert(spec: TokenSpec, ids: NewTokenIds, parent: number): Promise<Result<Outcome, Failure>> {
    const now = currentTime();
    if (!this.#store.isPlanted || !this.#store.live(parent, now)) return NOT_FOUND;
    return this.#insert(spec, ids, parent, []);
  }

  /** True while the token of this row is alive: what the life of a batch token hangs on. */
  isAlive(row: number): boolean {
    return this.#store.isPlanted && this.#store.live(row, currentTime()) !== null;
  }

  /** What has become of a row: "dead" while it waits for the sweep, "absent" before it is written and after the sweep. */
  fateOf(row: number): "alive" | "dead" | "absent" {
    if (!this.#store.isPlanted || !this.#store.exists(row)) return "absent";
    return this.#store.live(row, currentTime()) ? "alive" : "dead";
  }

  /** Performs an action on a lease of this tree. "not_found" when the lease, or who shall hold it, is not there. */
  async lease(action: LeaseAction): Promise<Result<LeaseOutcome, Failure>> {
    return this.#store.isPlanted ? this.#leases.perform(action) : NOT_FOUND;
  }

  /** Does to leases of this tree, of tokens and of secrets, what a walk over a path prefix is for. Safe to repeat. */
  async walk(found: FoundInTree, mode: WalkMode): Promise<WalkAnswer> {
    if (this.#store.isPlanted) return this.#leases.walk(found, mode);
    const rows = (list: readonly RowAndTail[]) => list.map(({ row }) => row);
    return { unknownTokens: rows(found.tokens), unknownSecrets: rows(found.secrets), failures: [] };
  }

  /**
   * Performs one bounded step of a tidy run here: tells which entries elsewhere have no token, and repairs the tree's own
   * rows. Requests are served between the steps, and within one while it talks to the list of accessors.
   */
  async tidy(step: TidyStep): Promise<TidyStepResult> {
    if (!this.#store.isPlanted) return nothingHere(step);
    this.#tidying++;
    try {
      const result = await this.#tidy.perform(step);
      const { swept } = await this.#sweepStep();
      // What has ended and was not seen to yet must have an alarm coming, whatever became of the last one.
      this.#store.refresh();
      this.#leases.refresh();
      this.#alarmAt = await this.ctx.storage.getAlarm();
      this.#arm();
      return { ...result, repairs: { ...result.repairs, swept } };
    } finally {
      this.#tidying--;
    }
  }

  /** Sweeps what is dead, step by step, sends what has ended elsewhere, and sets itself again for the next expiry. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    if (!this.#store.isPlanted) return;
    try {
      await this.#sweep();
      await this.#leases.work();
    } catch (error) {
      // The platform gives up after a few retries of its own; the sweep must not: dead rows cost every look-up a walk.
      console.error(JSON.stringify({ type: "sweep", error: String(error) }));
      return this.#setAlarm(currentTime() + SWEEP_RETRY_MS);
    }
    if (this.#store.isEmpty && this.#cubbyhole.isEmpty && this.#leases.isEmpty) {
      // Calls that wait for another object come back to the tables.
      if (this.#leases.isBusy || this.#tidying > 0) return this.#setAlarm(currentTime() + SWEEP_RETRY_MS);
      // Nothing here can come back to life. Every login makes a tree; one that kept its database would stay for ever.
      this.#store.forget();
      this.#cubbyhole.forget();
      this.#leases.forget();
      await this.ctx.storage.deleteAll();
      return;
    }
    this.#store.refresh();
    this.#leases.refresh();
    this.#arm();
  }

  async #sweep(): Promise<void> {
    for (let step = 0; step < SWEEP_STEPS; step++) {
      if ((await this.#sweepStep()).done) return;
      await new Promise((resolve) => setTimeout(resolve, SWEEP_PAUSE_MS));
    }
  }

  /** Returns how many tokens it deleted, and whether nothing dead was left before it. */
  async #sweepStep(): Promise<SweepStep> {
    const victims = nextVictims(this.#sql, currentTime(), SWEEP_ROWS);
    if (victims === null) return { swept: 0, done: true };
    if (victims.length === 0) return { swept: 0, done: false };
    // A token that holds more leases than one step takes goes with a later one.
    if (!this.#leases.endOfTokens(victims.map(({ row }) => row))) return { swept: 0, done: false };
    // Traces elsewhere go first: after a crash in between the rows are still here and the step is repeated.
    await this.#forgetElsewhere(victims);
    this.#cubbyhole.deleteOf(victims.map(({ row }) => row));
    deleteVictims(this.#sql, victims);
    return { swept: victims.length, done: false };
  }

  #authenticate({ row, verifier, clientAddress }: TreeCall, now: number) {
    const found = this.#store.isPlanted ? this.#store.live(row, now) : null;
    if (!found || !equalBytes(found.fixed.verifier, verifier)) return null;
    const caller = this.#view(found, now);
    return addressAllowed(caller.boundCidrs, clientAddress) ? { row: found, caller } : null;
  }

  async #perform(
    action: CallerAction,
    caller: TokenView,
    callerRow: TokenRow,
    verdict: Verdict,
    now: number,
  ): Promise<Result<Outcome, Failure>> {
    switch (action.kind) {
      case "create":
        return this.#create(action, caller, verdict, now);
      case "cubbyhole_read": {
        const sealed = this.#cubbyhole.read(caller.row, action.path);
        return sealed ? ok({ kind: "value", sealed }) : NOT_FOUND;
      }
      case "cubbyhole_list": {
        const limit = Math.min(verdict.limit || action.limit, action.limit);
        return ok({ kind: "keys", keys: this.#cubbyhole.list(caller.row, action.prefix, action.after, limit) });
      }
      case "cubbyhole_write": {
        const exists = this.#cubbyhole.read(caller.row, action.path) !== null;
        if (exists ? !verdict.update : !verdict.create) return err(DENIED);
        const bytes = action.path.length + action.sealed.length;
        const problem = cubbyholeProblem(this.#cubbyhole.others(caller.row, action.path), bytes);
        if (problem) return err(problem);
        this.#cubbyhole.write(caller.row, action.path, action.sealed);
        return ok({ kind: "done" });
      }
      case "cubbyhole_delete":
        this.#cubbyhole.delete(caller.row, action.path);
        return ok({ kind: "done" });
      default:
        return this.#onTarget(action, callerRow, now);
    }
  }

  async #create(
    action: Extract<CallerAction, { kind: "create" }>,
    caller: TokenView,
    verdict: Verdict,
    now: number,
  ): Promise<Result<Outcome, Failure>> {
    const plan = planCreate({
      request: action.request,
      creator: { ...caller, type: "service", expires: caller.expiresAt !== null, sudo: verdict.sudo },
      role: action.role,
      mount: action.mount,
      now,
    });
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    const { id, entityAlias } = action.request;
    const elsewhere = spec.orphan || spec.type === "batch" || id !== "" || entityAlias !== "";
    if (elsewhere || !action.ids) return ok({ kind: "planned", spec, warnings });
    return this.#insert(spec, action.ids, caller.row, warnings);
  }

  async #insert(
    spec: TokenSpec,
    ids: NewTokenIds,
    parent: number,
    warnings: readonly string[],
  ): Promise<Result<Outcome, Failure>> {
    if (this.#store.exists(ids.row)) return ok({ kind: "row_taken" });
    const listed = this.#list(spec, ids);
    this.#store.insert(spec, ids, parent);
    this.#arm();
    const confirmed = await this.#confirm(listed, spec, ids, false);
    return confirmed.ok ? ok({ kind: "created", token: confirmed.value, warnings }) : confirmed;
  }

  /** Starts the write to the list of accessors. Called before the own write, so that the two commit side by side. */
  #list({ record }: TokenSpec, ids: NewTokenIds): Promise<Listing> {
    return accessorShard(this.env, accessorShardNumber(ids.accessor))
      .add(ids.accessor, indexPath(record), record.login?.mount ?? null)
      .then(
        (added) => (added ? "listed" : "refused"),
        () => "failed",
      );
  }

  /** Waits for the list. A token that could not be listed is taken back: it was never handed out. */
  async #confirm(
    listing: Promise<Listing>,
    spec: TokenSpec,
    ids: NewTokenIds,
    orphan: boolean,
  ): Promise<Result<TokenView, Failure>> {
    const listed = await listing;
    if (listed !== "listed") {
      this.#cubbyhole.deleteOf([ids.row]);
      this.#store.removeUnseen(ids.row);
      return err(listed === "refused" ? DENIED : NOT_STORED);
    }
    const { record, expiresAt } = spec;
    return ok({
      ...record,
      treeId: this.#treeId,
      row: ids.row,
      accessor: ids.accessor,
      orphan,
      usesLeft: record.numUses,
      grantedTtl: record.creationTtl,
      expiresAt,
      renewedAt: null,
    });
  }

  #onTarget(action: TargetAction, callerRow: TokenRow | null, now: number): Result<Outcome, Failure> {
    const row = this.#store.isPlanted ? this.#findTarget(action.target, callerRow, now) : null;
    if (!row) return NOT_FOUND;
    switch (action.kind) {
      case "lookup":
        return ok({ kind: "token", token: this.#view(row, now) });
      case "revoke":
        this.#store.revoke(row.row, REVOKED);
        this.#arm();
        return ok({ kind: "done" });
      case "revoke_orphan":
        this.#store.revoke(row.row, REVOKED_ALONE);
        this.#arm();
        return ok({ kind: "done" });
      case "renew":
        return this.#renew(action, this.#view(row, now), now);
      case "unwrap":
        return this.#unwrap(row, action.take, now);
    }
  }

  /** Reading and marking are one step: of any number of calls at once one gets the answer. */
  #unwrap(row: TokenRow, take: boolean, now: number): Result<Outcome, Failure> {
    const token = this.#view(row, now);
    const sealed = isWrappingToken(token) ? this.#cubbyhole.read(row.row, RESPONSE_PATH) : null;
    if (!sealed) return NOT_FOUND;
    if (take) {
      this.#store.revoke(row.row, REVOKED);
      this.#arm();
    }
    return ok({ kind: "wrapped", token, sealed });
  }

  #renew(action: Extract<TargetAction, { kind: "renew" }>, token: TokenView, now: number): Result<Outcome, Failure> {
    const refusal = refuseRenewal(token);
    if (refusal) return err(refusal);
    if ((token.role !== null || token.login !== null) && !action.terms) return ok({ kind: "needs_terms", token });
    const plan = planRenew(token, action.terms ?? ownTerms(token), action.increment, action.mount, now);
    if (!plan.ok) return plan;
    const { ttl, expiresAt, warnings } = plan.value;
    this.#store.renew(token.row, ttl, expiresAt, now);
    this.#arm();
    return ok({ kind: "renewed", token: { ...token, grantedTtl: ttl, expiresAt, renewedAt: now }, warnings });
  }

  #findTarget(target: Target, callerRow: TokenRow | null, now: number): TokenRow | null {
    if (target.by === "self") return callerRow;
    const row = this.#store.live(target.row, now);
    if (!row) return null;
    const matches =
      target.by === "token"
        ? equalBytes(row.fixed.verifier, target.verifier)
        : equalBytes(row.fixed.accessorTail, target.tail);
    return matches ? row : null;
  }

  #view(row: TokenRow, now: number): TokenView {
    return {
      ...row.fixed.record,
      treeId: this.#treeId,
      row: row.row,
      accessor: row.fixed.accessor,
      orphan: this.#store.isOrphan(row, now),
      usesLeft: row.uses_left,
      grantedTtl: row.granted_ttl,
      expiresAt: row.expires_at,
      renewedAt: row.renewed_at,
    };
  }

  /** Sets the alarm for the next sweep unless one that is as early is set: moving it later would only cost a write. */
  #arm(): void {
    const next = earlier(this.#store.nextSweepAt(currentTime()), this.#leases.nextDueAt);
    if (next === null) return;
    const due = Math.min(next, LATEST_ALARM_MS);
    if (this.#alarmAt !== null && this.#alarmAt <= due) return;
    this.#setAlarm(due);
  }

  #setAlarm(at: number): Promise<void> {
    this.#alarmAt = at;
    return this.ctx.storage.setAlarm(at);
  }

  async #forgetElsewhere(victims: readonly Victim[]): Promise<void> {
    const treeId = this.#treeId;
    const byShard = new Map<number, string[]>();
    for (const victim of victims) {
      const accessor = routedIdText(treeId, victim.row, new Uint8Array(victim.accessorTail));
      const shard = accessorShardNumber(accessor);
      byShard.set(shard, [...(byShard.get(shard) ?? []), accessor]);
    }
    const calls: Promise<void>[] = [...byShard].map(([shard, accessors]) =>
      accessorShard(this.env, shard).remove(accessors),
    );
    for (const { row, customIdKey } of victims) {
      if (customIdKey !== null) calls.push(customIdsOf(this.env, customIdKey).release(customIdKey, { treeId, row }));
    }
    await Promise.all(calls);
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
