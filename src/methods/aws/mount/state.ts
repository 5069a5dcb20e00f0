import { currentTime } from "../../../base/clock.ts";
import { forgetCopies } from "./copies.ts";
import type { CloudStore } from "./store.ts";

/** The state that the configuration and the roles of a mount are in: a number that every change makes greater. */
export class ConfigurationState {
  readonly #store: CloudStore;

  constructor(store: CloudStore) {
    this.#store = store;
  }

  /** 0 before the first change. */
  get number(): number {
    return this.#store.state.read() ?? 0;
  }

  /** Notes a change of what isolates keep copies of, in the step that makes it. */
  changed(): void {
    if (!this.#store.exists) return;
    // Greater than before, also after a restore to an earlier state.
    this.#store.state.write(Math.max(this.number + 1, currentTime()));
    // Where one process serves, this isolate is the one that answers requests.
    forgetCopies();
  }
}
