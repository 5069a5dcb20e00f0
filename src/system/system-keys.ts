import { type KeyRing, rowKeysOf } from "../crypto/key-ring.ts";
import type { RowKeys } from "../crypto/row-keys.ts";
import type { SystemEnv } from "./env.ts";
import type { InstallationStore } from "./installation-store.ts";
import { openKeyRing } from "./open-ring.ts";

/** The keys with which the System object checks and makes seals of its rows, from the key ring that it stores. */
export class SystemKeys {
  readonly #env: SystemEnv;
  readonly #installation: InstallationStore;
  #rowKeys: RowKeys | null = null;
  /** The wrapped ring that they are from. */
  #openedRing: string | null = null;

  constructor(env: SystemEnv, installation: InstallationStore) {
    this.#env = env;
    this.#installation = installation;
  }

  /** null until the key ring was opened. */
  get rowKeys(): RowKeys | null {
    return this.#rowKeys;
  }

  /**
   * Opens the key ring that is stored, unless it is open. False when it can't be opened with the settings of this object and
   * none was opened before; a ring that is only wrapped again has the same keys.
   */
  async open(): Promise<boolean> {
    const sealed = this.#installation.sealedKeyRing;
    if (sealed === null || sealed === this.#openedRing) return true;
    const opened = await openKeyRing(this.#env, sealed);
    if (opened.ok) this.take(opened.value.ring, sealed);
    return this.#rowKeys !== null;
  }

  /** Works with the keys of `ring`, whose wrapped form is `sealed`, from now on. */
  take(ring: KeyRing, sealed: string): void {
    this.#rowKeys = rowKeysOf(ring);
    this.#openedRing = sealed;
  }

  /** Opens the key ring that is stored, for work on rows that have to be checked. */
  async mustOpen(): Promise<void> {
    if (!(await this.open())) throw new Error("rows can't be checked: the key ring does not open");
  }
}
