import { currentTime } from "../../base/clock.ts";
import { SoonestTimer } from "../../base/soonest-timer.ts";
import type { Setting } from "../../storage/sealed-values.ts";
import type { Tables } from "../../storage/tables.ts";
import { type Refusal, timeToWait, withRefusals } from "./refusals.ts";

/** The part of a mount's object that keeps refusals. */
interface Storage {
  readonly tables: Pick<Tables, "exist">;
  /** Opens what rows are sealed with. */
  readonly open: () => Promise<unknown>;
  /** Where they are stored: one row. */
  readonly setting: Setting<readonly Refusal[]>;
}

/**
 * The refused logins of a mount, in its object. Anybody can have logins refused, so the one row that holds them is written once in
 * `INTERVAL_MS` at most; an object that ends in between forgets what came since. A mount that has neither configuration nor role keeps
 * none: what was erased does not come back.
 */
export class RefusalKeeper {
  readonly #storage: Storage;
  readonly #timer = new SoonestTimer();
  /** As stored, with what waits to be; null before the first use. */
  #refusals: readonly Refusal[] | null = null;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async add(more: readonly Refusal[]): Promise<void> {
    this.#refusals = withRefusals(await this.read(), more);
    const wait = timeToWait(this.#writtenAt, currentTime());
    if (wait === 0) return this.#write();
    // What is lost because the keys can't be opened now, the next refusal writes.
    this.#timer.in(wait, () => void this.#write().catch(() => undefined));
  }

  async read(): Promise<readonly Refusal[]> {
    await this.#storage.open();
    this.#refusals ??= this.#storage.setting.read() ?? [];
    return this.#storage.tables.exist ? this.#refusals : [];
  }

  async #write(): Promise<void> {
    const refusals = await this.read();
    if (!this.#storage.tables.exist) return;
    this.#writtenAt = currentTime();
    this.#storage.setting.write(refusals);
  }
}
