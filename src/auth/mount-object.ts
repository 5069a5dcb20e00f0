import { currentTime } from "../base/clock.ts";
import { SoonestTimer } from "../base/soonest-timer.ts";
import type { Setting } from "../storage/sealed-values.ts";
import type { SystemEnv } from "../system/env.ts";
import { GroveObject } from "../system/grove-object.ts";
import { type Refusal, timeToWait, withRefusals } from "./refused/refusals.ts";

/**
 * The object of a mount of an auth method, which keeps the mount's refused logins besides. Anybody can have logins refused, so the one
 * row that holds them is written once in `INTERVAL_MS` at most; an object that ends in between forgets what came since. A mount that
 * has neither configuration nor role keeps none: what was erased does not come back.
 */
export abstract class MountObject<Env extends SystemEnv> extends GroveObject<Env> {
  /** The row of the refused logins. */
  protected abstract readonly refused: Setting<readonly Refusal[]>;
  readonly #timer = new SoonestTimer();
  /** As stored, with what waits to be; null before the first use. */
  #refusals: readonly Refusal[] | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;

  /** Keeps refused logins, with what is known of earlier ones. */
  async addRefusals(more: readonly Refusal[]): Promise<void> {
    this.#refusals = withRefusals(await this.refusals(), more);
    const wait = timeToWait(this.#writtenAt, currentTime());
    if (wait === 0) return this.#write();
    // What is lost because the keys can't be opened now, the next refusal writes.
    this.#timer.in(wait, () => void this.#write().catch(() => undefined));
  }

  /** The logins that were refused lately. */
  async refusals(): Promise<readonly Refusal[]> {
    await this.keys.open();
    this.#refusals ??= this.refused.read() ?? [];
    return this.tables.exist ? this.#refusals : [];
  }

  /** Deletes everything when the mount is removed. Safe to repeat. */
  erase(): Promise<void> {
    return this.wipe();
  }

  async #write(): Promise<void> {
    const refusals = await this.refusals();
    if (!this.tables.exist) return;
    this.#writtenAt = currentTime();
    this.refused.write(refusals);
  }
}
