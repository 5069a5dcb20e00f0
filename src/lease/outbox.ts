import { currentTime } from "../base/clock.ts";
import { MAX_PARALLEL_CALLS } from "../base/parallel.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { accessorShardNumber } from "../listing/accessor-shard-number.ts";
import { loadInstallation } from "../system/installation.ts";
import { routedIdText } from "../token/ids.ts";
import type { SendFailure } from "./actions.ts";
import { sendRevocation, TIMEOUT_MS } from "./delivery.ts";
import type { LeaseEnv } from "./env.ts";
import { MAX_ATTEMPTS, retryDelayMs } from "./rules.ts";
import { type LeaseRow, type LeaseStore, leaseRecordOf } from "./store.ts";

/** Revocations that one alarm sends at most. */
const PER_ALARM = 60;
/** Characters of an error that is kept. */
const MAX_ERROR = 240;

/**
 * Sends the revocations of leases that have ended: at least once, each attempt counted before it is made. While one is in
 * flight the tree serves other requests, so afterwards only what is still waiting is touched.
 */
export class LeaseOutbox {
  readonly #env: LeaseEnv;
  readonly #store: LeaseStore;
  readonly #treeId: string;

  constructor(env: LeaseEnv, store: LeaseStore, treeId: string) {
    this.#env = env;
    this.#store = store;
    this.#treeId = treeId;
  }

  /** Sends what is due, at most as much as one alarm may. */
  async sendDue(): Promise<void> {
    if (this.#store.due(currentTime(), 1).length === 0) return;
    // Before an attempt is counted: while the service is sealed none can be made.
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
      await this.forget(group.filter((_, at) => sent[at] === null).map(({ row }) => row));
    }
    return failures;
  }

  /** Drops leases that have ended, from the index first: a crash in between repeats the step. */
  async forget(rows: readonly number[]): Promise<void> {
    const leases = rows.flatMap((row) => this.#store.find(row) ?? []);
    const byShard = Map.groupBy(
      leases.map((lease) => this.#tailOf(lease)),
      accessorShardNumber,
    );
    await Promise.all([...byShard].map(([shard, tails]) => accessorShard(this.#env, shard).removeLeases(tails)));
    this.#store.remove(rows);
  }

  /** Takes what is still to be sent. The alarm leaves it alone until this call must be over. */
  #claim(rows: readonly number[]): LeaseRow[] {
    const now = currentTime();
    return rows.flatMap((row, at) => {
      const waiting = Math.floor(at / MAX_PARALLEL_CALLS) * TIMEOUT_MS;
      const lease = this.#store.claim(row, (attempts) => now + waiting + retryDelayMs(attempts, Math.random()));
      return lease ? [lease] : [];
    });
  }

  /** null: the target knows, or need not know any more. */
  async #sendOne(lease: LeaseRow, keys: Keys): Promise<SendFailure | null> {
    const { row, path } = lease;
    const revocation = {
      leaseId: `${path}/${this.#tailOf(lease)}`,
      path,
      record: leaseRecordOf(lease),
      data: lease.data && new Uint8Array(lease.data),
    };
    const delivery = await sendRevocation(this.#env, keys, revocation, currentTime());
    if (delivery.delivered || lease.forced) return null;
    const error = delivery.error.slice(0, MAX_ERROR);
    if (delivery.hopeless || lease.attempts >= MAX_ATTEMPTS) await this.#giveUp(lease, error);
    return { row, error };
  }

  /**
   * Lists the lease as irrevocable before it stops being sent. Not one that another attempt has ended, or that was forced, since
   * this attempt began: a forced one is sent once more.
   */
  async #giveUp(lease: LeaseRow, error: string): Promise<void> {
    if (!this.#store.canGiveUp(lease.row)) return;
    const tail = this.#tailOf(lease);
    const shard = accessorShard(this.#env, accessorShardNumber(tail));
    await shard.giveUpLease({ tail, path: lease.path, expiresAt: lease.expires_at, error });
    if (this.#store.canGiveUp(lease.row)) this.#store.giveUp(lease.row, error);
    // The other attempt may have taken it off the index before it was listed again.
    else if (!this.#store.find(lease.row)) await shard.removeLeases([tail]);
  }

  async #keys(): Promise<Keys> {
    const loaded = await loadInstallation(this.#env);
    if (!loaded.ok) throw new Error("revocations can't be signed while the service is sealed");
    return loaded.value.keys;
  }

  #tailOf(lease: LeaseRow): string {
    return routedIdText(this.#treeId, lease.row, new Uint8Array(lease.tail));
  }
}
