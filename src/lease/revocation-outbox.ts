import type { Ms } from "../base/clock.ts";
import { currentTime } from "../base/clock.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { accessorShard, accessorShardNumber } from "../listing/accessor-shards.ts";
import type { ForcedRemoval } from "../listing/lease-index.ts";
import { Outbox } from "../storage/outbox.ts";
import { mustServe } from "../system/installation.ts";
import type { SendFailure } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import { sendRevocation, TIMEOUT_MS } from "./revocation-delivery.ts";
import type { LeaseRow, LeaseStore } from "./store.ts";

/** Attempts to send a revocation before it is given up. */
const MAX_REVOCATION_ATTEMPTS = 6;
/** Pause after the first failed attempt, see `retryDelayMs`. */
const RETRY_BASE_MS: Ms = 10_000;
/** Characters of a stored error. */
const MAX_ERROR = 240;

/** Sends the revocations of ended leases. */
export class LeaseOutbox {
  readonly #env: LeaseEnv;
  readonly #store: LeaseStore;
  readonly #isAlive: (token: number) => boolean;
  readonly #outbox: Outbox<LeaseRow, SendFailure>;

  /** @param isAlive whether the token in a row of the tree is alive. */
  constructor(env: LeaseEnv, store: LeaseStore, isAlive: (token: number) => boolean) {
    this.#env = env;
    this.#store = store;
    this.#isAlive = isAlive;
    this.#outbox = new Outbox({
      pauseMs: RETRY_BASE_MS,
      timeoutMs: TIMEOUT_MS,
      due: (now, limit) => store.due(now, limit),
      claim: (lease, attempts, nextAt) => store.claim(lease, attempts, nextAt),
      send: (leases) => this.#send(leases),
    });
  }

  /** Sends due revocations. @throws Error while the service is sealed. */
  async sendDue(): Promise<void> {
    if (this.#store.due(currentTime(), 1).length === 0) return;
    // Checked before attempts are counted, since a sealed service can't make any.
    await mustServe(this.#env);
    await this.#outbox.sendDue();
  }

  /** Sends the revocations of these leases now, each once. Returns those that failed. */
  send(rows: readonly number[]): Promise<SendFailure[]> {
    return this.#outbox.send(rows.flatMap((row) => this.#store.find(row) ?? []));
  }

  async #send(leases: readonly LeaseRow[]): Promise<SendFailure[]> {
    const { keys } = await mustServe(this.#env);
    const sent = await Promise.all(leases.map((lease) => this.#sendOne(lease, keys)));
    const gone = leases.filter((_, at) => sent[at] === "accepted" || sent[at] === "removed");
    await this.#forget(
      gone,
      leases.filter((_, at) => sent[at] === "removed"),
    );
    return sent.filter((result) => typeof result === "object");
  }

  /**
   * Deletes leases, from the index first: a crash in between repeats the step.
   *
   * @param removed those of them that were removed by force, although their targets did not accept the revocation.
   */
  async #forget(gone: readonly LeaseRow[], removed: readonly LeaseRow[]): Promise<void> {
    const forced = removed.map((lease): ForcedRemoval => {
      const { tail, holder = "" } = this.#store.view(lease);
      return { tail, holder: this.#isAlive(lease.token) ? "" : holder };
    });
    const tails = gone.map((lease) => this.#store.tailOf(lease));
    await Promise.all(
      [...Map.groupBy(tails, accessorShardNumber)].map(([shard, of]) =>
        accessorShard(this.#env, shard).removeLeases(
          of,
          forced.filter(({ tail }) => of.includes(tail)),
        ),
      ),
    );
    this.#store.remove(gone.map(({ row }) => row));
  }

  async #sendOne(lease: LeaseRow, keys: Keys): Promise<"accepted" | "removed" | SendFailure> {
    const data = lease.data && new Uint8Array(lease.data);
    const delivery = await sendRevocation(this.#env, keys, { ...this.#store.view(lease), data }, currentTime());
    if (delivery.delivered) return "accepted";
    if (lease.forced) return "removed";
    const error = delivery.error.slice(0, MAX_ERROR);
    if (delivery.hopeless || lease.attempts >= MAX_REVOCATION_ATTEMPTS) await this.#giveUp(lease, error);
    else await this.#noteFailed(lease, error);
    return { row: lease.row, error };
  }

  /** Stores the error of an attempt that another one follows, and has the list of failing leases find it. */
  async #noteFailed(lease: LeaseRow, error: string): Promise<void> {
    this.#store.failed(lease.row, error);
    const tail = this.#store.tailOf(lease);
    const shard = accessorShard(this.#env, accessorShardNumber(tail));
    // Without an answer the lease is listed after the next attempt.
    await shard.addLease(tail, lease.path, currentTime()).catch(() => {});
    // A shard of 1.0.0-rc.1 has listed again what another attempt may have removed meanwhile.
    if (!this.#store.find(lease.row)) await shard.removeLeases([tail]);
  }

  /**
   * Lists the lease as irrevocable and then stops sending its revocation. Does nothing when, since this attempt began,
   * another attempt has succeeded or the revocation was forced: a forced revocation is sent again.
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
}
