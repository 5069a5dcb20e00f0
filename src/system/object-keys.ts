import type { RowKeys } from "../crypto/row-keys.ts";
import type { SystemEnv } from "./env.ts";
import { mustLoadInstallation } from "./installation.ts";

/**
 * The keys for the seals of an object's rows. Every method that reads or writes such rows opens them first: what it does
 * after that needs no await, and is one transaction.
 */
export class ObjectKeys {
  readonly #env: SystemEnv;
  #keys: RowKeys | null = null;

  constructor(env: SystemEnv) {
    this.#env = env;
  }

  /**
   * Gets the keys, of which every isolate has a copy.
   *
   * @throws while the service is sealed: no request gets to an object then.
   */
  async open(): Promise<void> {
    this.#keys = (await mustLoadInstallation(this.#env)).keys.rows;
  }

  /**
   * The same for what an object does by itself.
   *
   * @throws while the installation is being restored, too: what it would notify may not be there yet.
   */
  async openForAlarm(): Promise<void> {
    const { restoring, keys } = await mustLoadInstallation(this.#env);
    if (restoring !== null) throw new Error("the installation is being restored");
    this.#keys = keys.rows;
  }

  /** The keys as they were last opened. */
  get(): RowKeys {
    if (!this.#keys) throw new Error("a row was read before the keys for its seal");
    return this.#keys;
  }
}
