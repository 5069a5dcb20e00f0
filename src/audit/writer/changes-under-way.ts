import { isWithin, type Ms } from "../../base/clock.ts";

/** Time from the beginning of a change after which its record is not waited for: it takes long, or was cancelled. */
const EXPECTED_MS: Ms = 20;

/** The changes that an isolate has begun and not answered, by their request ids. The records of the newest come soon. */
export class ChangesUnderWay {
  readonly #begun = new Map<string, Ms>();

  begin(id: string, now: Ms): void {
    this.#begun.set(id, now);
  }

  end(id: string): void {
    this.#begun.delete(id);
  }

  /** True when the record of a change comes soon. */
  areNew(now: Ms): boolean {
    for (const [id, at] of this.#begun) {
      if (isWithin(at, EXPECTED_MS, now)) return true;
      this.#begun.delete(id);
    }
    return false;
  }
}
