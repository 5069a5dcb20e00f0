import type { ListenAddress } from "../../../gateway/server.ts";
import { addressText } from "../../local/listen-address.ts";
import { succeeds } from "../../local/wait-until-answers.ts";

/** Time limit of workerd's answer (ms). */
const ASK_MS = 1_000;
/** Within this time the last answer is reused (ms). */
const KEEP_MS = 250;

/** Whether a node may get requests, for `GET /ready`. */
export class Readiness {
  readonly #isUp: () => boolean;
  readonly #ask: () => Promise<boolean>;
  #asked: Promise<boolean> | undefined;
  #askedAt = 0;

  /** @param isUp false while workerd does not serve, or the node stops. @param ask asks workerd whether it has its lease. */
  constructor(isUp: () => boolean, ask: () => Promise<boolean>) {
    this.#isUp = isUp;
    this.#ask = ask;
  }

  async read(): Promise<boolean> {
    if (!this.#isUp()) return false;
    const now = performance.now();
    if (this.#asked === undefined || now - this.#askedAt > KEEP_MS) {
      this.#asked = this.#ask();
      this.#askedAt = now;
    }
    return (await this.#asked) && this.#isUp();
  }
}

/** Asks the workerd of this node on its cluster port whether it serves and has its lease. */
export function askWorkerd(address: ListenAddress): Promise<boolean> {
  const url = new URL(`http://${addressText(address)}`);
  return succeeds({ kind: "origin", url }, "/ready", ASK_MS);
}
