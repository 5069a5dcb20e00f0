import { currentTime, type Ms } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { equalBytes } from "../crypto/bytes.ts";
import { accessorShard, accessorShardNumber } from "../listing/accessor-shards.ts";
import type { CarriedOutCalls } from "../storage/carried-out-calls.ts";
import type { SchemaVersions } from "../storage/tables.ts";
import { isTarget, type StoredIds } from "../token/actions.ts";
import { type RowAndTail, routedIdText } from "../token/ids.ts";
import type {
  FoundInTree,
  LeaseAction,
  LeaseOutcome,
  LeaseReference,
  LeaseStanding,
  LeaseView,
  NewLeaseIds,
  WalkMode,
} from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import { planLease, planLeaseRenewal } from "./lease-ttl.ts";
import { LeaseOutbox } from "./revocation-outbox.ts";
import { GIVEN_UP, HELD, type LeaseRow, LeaseStore } from "./store.ts";

/** Leases that one step moves to the outbox. A step takes a few ms. */
const STEP = 500;

/** Revocations that the tree sends before it answers one step of a walk. */
const WALK_SENDS = 12;

interface TreeLeasesDeps {
  readonly env: LeaseEnv;
  readonly sql: SqlStorage;
  readonly versions: SchemaVersions;
  readonly treeId: string;
  readonly carriedOut: CarriedOutCalls;
  /** Finds the tokens of the tree, which hold the leases. */
  readonly tokens: { live(row: number, now: Ms): { readonly fixed: StoredIds } | null };
  /** Sets the alarm of the tree earlier if something is due before it. */
  readonly arm: () => void;
}

/**
 * The leases of the tokens of one tree. A lease is valid until its expiry, and while its holder is alive. After its end
 * the revocation stays in the outbox until the target has accepted it or it is given up.
 */
export class TreeLeases {
  readonly #tree: TreeLeasesDeps;
  readonly store: LeaseStore;
  readonly #outbox: LeaseOutbox;
  /**
   * Writes to the index in progress, by row. The attempts of one call share one: when it fails, the lease is removed, so
   * none of them may have answered it.
   */
  readonly #indexing = new Map<number, Promise<boolean>>();

  constructor(tree: TreeLeasesDeps) {
    this.#tree = tree;
    this.store = new LeaseStore(tree.sql, tree.treeId, tree.versions);
    this.#outbox = new LeaseOutbox(tree.env, this.store, (row) => tree.tokens.live(row, currentTime()) !== null);
  }

  /** Fails with "not_found" when the holder or the lease does not exist. */
  async perform(action: LeaseAction, attempt: CallAttempt): Promise<Result<LeaseOutcome>> {
    const now = currentTime();
    switch (action.kind) {
      case "register":
        return this.#register(action, now, attempt);
      case "lookup": {
        const row = this.#find(action.lease);
        // A lease whose revocation fails, or was given up, is still shown: an operator has to resolve it.
        return row && (row.error !== null || this.#isHeld(row, now)) ? shown(this.#withHolder(row, now)) : NOT_FOUND;
      }
      case "verify":
        return ok({ kind: "standing", standing: this.#standing(action.lease, now) });
      case "renew":
        return this.#renew(action, now);
      case "revoke":
        return this.#revoke(action, now);
    }
  }

  /** Ends some leases of dead tokens, at most `STEP`. Returns true when these tokens hold no more. */
  endOfTokens(rows: readonly number[]): boolean {
    return this.store.endOfTokens(rows, currentTime(), STEP) < STEP;
  }

  /** Work of the alarm: ends expired leases and sends due revocations. Bounded; the next alarm continues. */
  async work(): Promise<void> {
    this.store.endExpired(currentTime(), STEP);
    await this.#outbox.sendDue();
  }

  /**
   * Performs a step of a walk over a prefix for the leases of secrets that it found in this tree. Unless the mode is
   * `tidy`, all of them end at once. The first `WALK_SENDS` revocations are sent before the answer, so that the walk can
   * report failures. The alarm sends the others.
   */
  async walk(secrets: FoundInTree["secrets"], mode: WalkMode) {
    const known = secrets.filter((secret) => this.#rowOf(secret) !== null);
    const unknownSecrets = secrets.filter((secret) => !known.includes(secret)).map(({ row }) => row);
    const rows = mode === "tidy" ? [] : known.map(({ row }) => row);
    this.store.end(rows, mode === "force", currentTime());
    return { unknownSecrets, failures: await this.#outbox.send(rows.slice(0, WALK_SENDS)) };
  }

  async #register(
    action: Extract<LeaseAction, { kind: "register" }>,
    now: Ms,
    attempt: CallAttempt,
  ): Promise<Result<LeaseOutcome>> {
    const { holder, request, ids, data } = action;
    const { carriedOut } = this.#tree;
    const token = this.#tree.tokens.live(holder.row, now);
    if (!token || (holder.by !== "batch" && !isTarget(token.fixed, holder))) return NOT_FOUND;
    const plan = planLease(request, holder.by === "batch" ? holder.endsBy : null, now);
    if (!plan.ok) return plan;
    const isStored = this.store.find(ids.row) !== null;
    const isOwn = carriedOut.has(attempt, "write", ids.row);
    if (isStored && !isOwn) return ok({ kind: "row_taken" });
    // It has ended since an earlier attempt of this call.
    if (isOwn && !isStored) return NOT_FOUND;
    // In parallel with the write of the tree itself. The answer waits for both.
    const indexed = this.#indexing.get(ids.row) ?? this.#index(ids, request.path);
    const record = { ...plan.value.record, holder: this.#accessorOf(holder.row, token.fixed) };
    if (!isOwn) {
      this.store.insert(ids, holder.row, request.path, { ...plan.value, record }, data);
      carriedOut.add(attempt, "write", ids.row);
    }
    this.#tree.arm();
    if (!(await indexed)) {
      this.store.removeUnseen(ids.row);
      return err(unavailable("the lease could not be stored; try again"));
    }
    // The holder may have ended while the index was written. Then the lease has ended with it.
    const row = this.store.find(ids.row);
    return row && this.#isHeld(row, currentTime()) ? shown(this.store.view(row), plan.value.grant.warnings) : NOT_FOUND;
  }

  /** Writes a lease to the index. Returns whether that succeeded. */
  #index({ row, text }: NewLeaseIds, path: string): Promise<boolean> {
    const indexed = accessorShard(this.#tree.env, accessorShardNumber(text))
      .addLease(text, path)
      .then(
        () => true,
        () => false,
      )
      .finally(() => this.#indexing.delete(row));
    this.#indexing.set(row, indexed);
    return indexed;
  }

  #renew(action: Extract<LeaseAction, { kind: "renew" }>, now: Ms): Result<LeaseOutcome> {
    const row = this.#find(action.lease);
    if (row?.state === GIVEN_UP) return refuse("lease is expired and has failed previous revocation attempts");
    if (!row || row.state !== HELD || !this.#tree.tokens.live(row.token, now)) return NOT_FOUND;
    const lease = this.#withHolder(row, now);
    const plan = planLeaseRenewal(lease, action.increment, now);
    if (!plan.ok) return plan;
    const { ttl, expiresAt, warnings } = plan.value;
    this.store.renew(row.row, plan.value, now);
    this.#tree.arm();
    return shown({ ...lease, grantedTtl: ttl, expiresAt, renewedAt: now }, warnings);
  }

  async #revoke(action: Extract<LeaseAction, { kind: "revoke" }>, now: Ms): Promise<Result<LeaseOutcome>> {
    const row = this.#find(action.lease);
    if (!row) return NOT_FOUND;
    const { holder } = this.#withHolder(row, now);
    this.store.end([row.row], action.force, now);
    this.#tree.arm();
    if (!action.wait) return ok({ kind: "revoked", error: null, holder });
    const failures = await this.#outbox.send([row.row]);
    return ok({ kind: "revoked", error: failures[0]?.error ?? null, holder });
  }

  /** The lease with this row and random part, whatever its path. */
  #rowOf({ row, tail }: RowAndTail): LeaseRow | null {
    const lease = this.store.find(row);
    return lease && equalBytes(new Uint8Array(lease.tail), tail) ? lease : null;
  }

  #find(lease: LeaseReference): LeaseRow | null {
    const row = this.#rowOf(lease);
    return row?.path === lease.path ? row : null;
  }

  #standing(lease: LeaseReference, now: Ms): LeaseStanding {
    const { path } = lease;
    const row = this.#rowOf(lease);
    if (!row) return "ended";
    if (row.path !== path) return "path_differs";
    if (this.#isHeld(row, now)) return "held";
    const { error, tail, nextAttemptAt = null } = this.store.view(row);
    return error === null ? "waiting" : { path, tail, token: row.token, error, nextAttemptAt };
  }

  /** A lease of an earlier release has no accessor: it is known while the token lives. */
  #withHolder(row: LeaseRow, now: Ms): LeaseView {
    const token = this.#tree.tokens.live(row.token, now);
    return { ...(token && { holder: this.#accessorOf(row.token, token.fixed) }), ...this.store.view(row) };
  }

  #accessorOf(row: number, { accessorTail }: StoredIds): string {
    return routedIdText(this.#tree.treeId, row, accessorTail);
  }

  #isHeld(lease: LeaseRow, now: Ms): boolean {
    return lease.state === HELD && lease.expires_at > now && this.#tree.tokens.live(lease.token, now) !== null;
  }
}

function shown(lease: LeaseView, warnings: readonly string[] = []): Result<LeaseOutcome, never> {
  return ok({ kind: "lease", lease, warnings });
}
