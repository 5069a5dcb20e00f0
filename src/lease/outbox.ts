import { currentTime } from "../base/clock.ts";
import { MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { accessorShard, accessorShardNumber } from "../listing/accessor-shards.ts";
import { loadInstallation } from "../system/installation.ts";
import type { SendFailure } from "./actions.ts";
import { sendRevocation, TIMEOUT_MS } from "./delivery.ts";
import type { LeaseEnv } from "./env.ts";
import { MAX_REVOCATION_ATTEMPTS, retryDelayMs } from "./rules.ts";
import type { LeaseRow, LeaseStore } from "./store.ts";

/** Maximum number of revocations that one alarm sends. */
const PER_ALARM = 60;
/** Characters of a stored error. */
const MAX_ERROR = 240;

/**
 * Sends the revocations of ended leases, each at least once. An attempt is counted before it is made. While it is in
 * flight the tree serves other requests, so the state of the lease is read again afterwards.
 */
export class LeaseOutbox {
  readonly #env: LeaseEnv;
  readonly #store: LeaseStore;

  constructor(env: LeaseEnv, store: LeaseStore) {
    this.#env = env;
    this.#store = store;
  }

  /** Sends due revocations, at most `PER_ALARM`. @throws Error while the service is sealed. */
  async sendDue(): Promise<void> {
    if (this.#store.due(currentTime(), 1).length === 0) return;
    // Loaded before an attempt is counted: while the service is sealed none can be made.
    await this.#keys();
    await this.send(this.#store.due(currentTime(), PER_ALARM).map(({ row }) => row));
  }

  /** Sends the revocations of these leases now, each once. Returns those that failed. */
  async send(rows: readonly number[]): Promise<SendFailure[]> {
    const claimed = this.#claim(rows);
    const failures: SendFailure[] = [];
    for (let i = 0; i < claimed.length; i += MAX_PARALLEL_CALLS) {
      const keys = await this.#keys();
      const group = claimed.slice(i, i + MAX_PARALLEL_CALLS);
      const sent = await Promise.all(group.map((lease) => this.#sendOne(lease, keys)));
      failures.push(...sent.filter((failure) => failure !== null));
      await this.#forget(group.filter((_, at) => sent[at] === null));
    }
    return failures;
  }

  /** Deletes ended leases, from the index first: a crash in between repeats the step. */
  async #forget(leases: readonly LeaseRow[]): Promise<void> {
    const tails = leases.map((lease) => this.#store.tailOf(lease));
    const byShard = [...Map.groupBy(tails, accessorShardNumber)];
    await Promise.all(byShard.map(([shard, of]) => accessorShard(this.#env, shard).removeLeases(of)));
    this.#store.remove(leases.map(({ row }) => row));
  }

  /**
   * Counts an attempt for each lease with a pending revocation. The next attempt is scheduled for a time by which this
   * call has ended, so the alarm does not send the same revocation meanwhile.
   */
  #claim(rows: readonly number[]): LeaseRow[] {
    const now = currentTime();
    return rows.flatMap((row, at) => {
      const waiting = Math.floor(at / MAX_PARALLEL_CALLS) * TIMEOUT_MS;
      const lease = this.#store.claim(row, (attempts) => now + waiting + retryDelayMs(attempts, Math.random()));
      return lease ? [lease] : [];
    });
  }

  /** Returns null when the target has accepted the revocation, or when it was forced. */
  async #sendOne(lease: LeaseRow, keys: Keys): Promise<SendFailure | null> {
    const data = lease.data && new Uint8Array(lease.data);
    const delivery = await sendRevocation(this.#env, keys, { ...this.#store.view(lease), data }, currentTime());
    if (delivery.delivered || lease.forced) return null;
    const error = delivery.error.slice(0, MAX_ERROR);
    if (delivery.hopeless || lease.attempts >= MAX_REVOCATION_ATTEMPTS) await this.#giveUp(lease, error);
    return { row: lease.row, error };
  }

  /**
   * Lists the lease as irrevocable and then stops sending its revocation. Does nothing when, since this attempt began,
   * another one has succeeded or the revocation was forced: a forced one is sent once more.
   */
  async #giveUp(lease: LeaseRow, error: string): Promise<void> {
    if (!this.#store.canGiveUp(lease.row)) return;
    const tail = this.#store.tailOf(lease);
    const shard = accessorShard(this.#env, accessorShardNumber(tail));
    await shard.giveUpLease({ tail, path: lease.path, expiresAt: lease.expires_at, error });
    if (this.#store.canGiveUp(lease.row)) this.#store.giveUp(lease.row, error);
    // Another attempt may have removed it from the index before `giveUpLease` listed it again.
    else if (!this.#store.find(lease.row)) await shard.removeLeases([tail]);
  }

  async #keys(): Promise<Keys> {
    const loaded = await loadInstallation(this.#env);
    if (!loaded.ok) throw new Error("revocations can't be signed while the service is sealed");
    return loaded.value.keys;
  }
}
