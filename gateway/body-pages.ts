import { freeReceived } from "./free-received.ts";

/** Bytes of a page. */
export const PAGE_BYTES = 16 * 1024;

/** Most pages that are kept while nobody uses them: 4 MiB. */
const MAX_KEPT = 256;

/**
 * Memory for bodies, used again and again. Left to the collector, bodies would take several times the memory that they need at a time:
 * it hears late of what is outside of its heap, and what it frees lies between other things.
 */
export class BodyPages {
  readonly #kept: Buffer[] = [];

  /** A page with anything in it. */
  take(): Buffer {
    return this.#kept.pop() ?? Buffer.allocUnsafeSlow(PAGE_BYTES);
  }

  /** Takes pages back that nobody reads any more: what is written there next must reach no other reader. */
  giveBack(pages: readonly Buffer[]): void {
    for (const page of pages) {
      if (this.#kept.length < MAX_KEPT) this.#kept.push(page);
      else freeReceived(page);
    }
  }
}
