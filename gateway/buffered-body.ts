import type { ShareNetworks } from "./client-shares.ts";
import { FIRST_KEPT_BYTES } from "./limits.ts";
import type { Holding, MemoryBudget } from "./memory-budget.ts";

/**
 * Buffers a body until it is complete. Its memory counts for the client and grows with the received bytes, so an announced
 * body uses none. The pieces are copied: kept as they arrive, packets of one byte would use far more memory than is counted.
 */
export class KeptBytes implements Holding {
  readonly networks: ShareNetworks;
  readonly drop: () => void;
  heldBytes = 0;
  length = 0;
  readonly #budget: MemoryBudget;
  readonly #maxBytes: number;
  #memory: Buffer = Buffer.alloc(0);

  /**
   * @param maxBytes maximum size of the body
   * @param drop see {@link Holding}
   */
  constructor(budget: MemoryBudget, networks: ShareNetworks, maxBytes: number, drop: () => void) {
    this.networks = networks;
    this.drop = drop;
    this.#budget = budget;
    this.#maxBytes = maxBytes;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.length);
  }

  /** Appends a piece; false when there is no memory left for it. */
  add(piece: Buffer): boolean {
    const needed = this.length + piece.length;
    if (needed > this.#memory.length) {
      const size = Math.min(Math.max(2 * this.#memory.length, needed, FIRST_KEPT_BYTES), this.#maxBytes);
      const more = size - this.#memory.length;
      if (size < needed || !this.#budget.admits(this.networks, more) || !this.#budget.grow(this, more)) return false;
      const memory = Buffer.allocUnsafeSlow(size);
      this.bytes.copy(memory);
      this.#memory = memory;
    }
    piece.copy(this.#memory, this.length);
    this.length = needed;
    this.#budget.shrink(this, 0);
    return true;
  }

  /** Keeps the complete body until `release`. */
  complete(): Buffer {
    this.#budget.pin(this);
    return this.bytes;
  }

  /** Gives the memory back, when the bytes are no longer needed. Safe to repeat. */
  release(): void {
    this.#budget.end(this);
  }
}
