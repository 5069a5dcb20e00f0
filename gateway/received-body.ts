import { err, ok, type Result } from "../src/base/result.ts";
import { BUSY, type Refusal } from "./refusal.ts";
import type { RequestBody } from "./request-body.ts";
import type { Disconnected } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** A body that has arrived whole. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  /** Gives the room back. To be called once, when the bytes are not needed any more. */
  release(): void;
}

/** Room is taken in steps of this at least, so that a thousand bodies of one byte are not for free. */
const STEP_BYTES = 16 * 1024;

const EMPTY: ReceivedBody = { bytes: Buffer.alloc(0), release: () => {} };

/**
 * Waits for a whole body before the service hears of the request. A connection to the service is scarce: half a body
 * must never hold one. A body that came at once takes no room, so that short requests are served while others use up theirs.
 *
 * @param maxBytes how long it can be at most
 * @param room bytes for all bodies that wait; a body for which there is none left is refused with 503
 * @param onPiece called with the number of bytes received so far
 */
export async function receiveBody(
  body: RequestBody,
  maxBytes: number,
  key: ShareKey,
  room: Shares,
  onPiece: (received: number) => void,
): Promise<Result<ReceivedBody, Refusal | Disconnected>> {
  const first = await body.next();
  if (!first.ok) return first;
  if (first.value === undefined) return ok(EMPTY);
  if (body.isComplete) return ok({ bytes: first.value, release: EMPTY.release });

  const collected = new CollectedBody(maxBytes, key, room);
  for (let piece: Result<Buffer | undefined, Refusal | Disconnected> = first; ; piece = await body.next()) {
    if (piece.ok && piece.value === undefined) return ok(collected);
    if (piece.ok && piece.value !== undefined && collected.add(piece.value)) {
      onPiece(collected.length);
      continue;
    }
    collected.release();
    return piece.ok ? err(BUSY) : piece;
  }
}

class CollectedBody implements ReceivedBody {
  readonly #maxBytes: number;
  readonly #key: ShareKey;
  readonly #room: Shares;
  #buffer: Buffer = Buffer.alloc(0);
  /** Bytes of the buffer that are filled. */
  #filled = 0;

  constructor(maxBytes: number, key: ShareKey, room: Shares) {
    this.#maxBytes = maxBytes;
    this.#key = key;
    this.#room = room;
  }

  get length(): number {
    return this.#filled;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#filled);
  }

  /** Keeps the next piece; false when there is no room for it. */
  add(piece: Buffer): boolean {
    if (!this.#makeRoom(this.#filled + piece.length)) return false;
    this.#filled += piece.copy(this.#buffer, this.#filled);
    return true;
  }

  release(): void {
    this.#room.giveBack(this.#key, this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
    this.#filled = 0;
  }

  /** Pieces are copied together, as a body of single bytes would else cost a hundred times its size. */
  #makeRoom(needed: number): boolean {
    if (needed <= this.#buffer.length) return true;
    const steps = Math.max(Math.ceil(needed / STEP_BYTES) * STEP_BYTES, 2 * this.#buffer.length);
    const size = Math.max(needed, Math.min(steps, this.#maxBytes));
    if (!this.#room.take(this.#key, size - this.#buffer.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#filled);
    this.#buffer = larger;
    return true;
  }
}
