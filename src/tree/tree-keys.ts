import type { RowKeys } from "../crypto/row-keys.ts";
import { type Installation, mustLoadInstallation } from "../system/installation.ts";
import { NO_WATERMARKS, type Watermarks } from "../system/watermarks.ts";
import type { TreeEnv } from "./env.ts";

/** The keys and watermarks that a tree checks rows with, as of its last call. */
export class TreeKeys {
  readonly #env: TreeEnv;
  /** null until the first call that reads or writes a token. */
  #rowKeys: RowKeys | null = null;
  #watermarks: Watermarks = NO_WATERMARKS;

  constructor(env: TreeEnv) {
    this.#env = env;
  }

  readonly rowKeys = (): RowKeys => {
    if (!this.#rowKeys) throw new Error("a token was read before the keys for its seal");
    return this.#rowKeys;
  };

  readonly watermarks = (): Watermarks => this.#watermarks;

  /** Loads this isolate's copy of the installation. @param watermark the newest watermark that the caller knows. */
  async open(watermark = 0): Promise<void> {
    this.use(await mustLoadInstallation(this.#env, watermark));
  }

  /** Takes both from an installation that the caller has loaded. */
  use({ keys, watermarks }: Installation): void {
    this.#rowKeys = keys.rows;
    this.#watermarks = watermarks;
  }
}
