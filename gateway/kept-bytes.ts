import { FIRST_KEPT_BYTES } from "./limits.ts";
import type { ShareKey, Shares } from "./shares.ts";

const NOTHING: Buffer = Buffer.alloc(0);

/**
 * The bytes of a body until it is complete, in one piece of memory that is counted in the client's share. It grows with what arrives: what
 * is only announced takes nothing. The pieces themselves are not kept: one byte of each packet would hold much more memory than is counted.
 */
export class KeptBytes {
  readonly #room: Shares;
  readonly #key: ShareKey;
  readonly #maxBytes: number;
  #memory: Buffer = NOTHING;
  length = 0;

  /** @param maxBytes that it keeps at most */
  constructor(room: Shares, key: ShareKey, maxBytes: number) {
    this.#room = room;
    this.#key = key;
    this.#maxBytes = maxBytes;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.length);
  }

  /** Keeps the next piece; false when there is no room for it. */
  add(piece: Buffer): boolean {
    const needed = this.length + piece.length;
    if (needed > this.#memory.length && !this.#grow(needed)) return false;
    piece.copy(this.#memory, this.length);
    this.length = needed;
    return true;
  }

  /** Gives the room back when the bytes are not needed any more. To be called once. */
  release(): void {
    this.#room.giveBack(this.#key, this.#memory.length);
  }

  #grow(needed: number): boolean {
    const size = Math.min(Math.max(2 * this.#memory.length, needed, FIRST_KEPT_BYTES), this.#maxBytes);
    if (size < needed || !this.#room.take(this.#key, size - this.#memory.length)) return false;
    const memory = Buffer.allocUnsafeSlow(size);
    this.bytes.copy(memory);
    this.#memory = memory;
    return true;
  }
}
