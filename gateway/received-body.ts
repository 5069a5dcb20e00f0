import { err, ok, type Result } from "../src/base/result.ts";
import type { BodyError, MessageBody } from "./message-body.ts";
import { BUSY, badRequest, type Refusal } from "./refusal.ts";
import type { Disconnected } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** A body that has arrived whole. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  /** Gives the room back. To be called once, when the bytes are not needed any more. */
  release(): void;
}

/** Where a body waits until it is whole. */
export interface BodyPlace {
  /** How long it can be at most. */
  readonly maxBytes: number;
  /** Bytes for all bodies that wait; one for which there is none left is refused with 503. */
  readonly room: Shares;
  readonly key: ShareKey;
}

/** Room is taken in steps of this at least, so that a thousand bodies of one byte are not for free. */
const STEP_BYTES = 16 * 1024;

const NO_RELEASE = (): void => {};

export const TOO_LARGE: Refusal = { status: 413, message: "http: request body too large" };

/**
 * Waits for a whole body before the service hears of the request. A connection to the service is scarce: half a body
 * must never hold one. A body that came at once takes no room, so that short requests are served while others use up theirs.
 *
 * @param onPiece called with the number of bytes received so far, at first with 0, when the whole is not here at once
 */
export function receiveBody(
  body: MessageBody,
  place: BodyPlace,
  onPiece: (received: number) => void,
): BodyResult | Promise<BodyResult> {
  const whole = body.takeWhole();
  return whole === undefined ? collect(body, place, onPiece) : ok({ bytes: whole, release: NO_RELEASE });
}

type BodyResult = Result<ReceivedBody, Refusal | Disconnected>;

async function collect(body: MessageBody, place: BodyPlace, onPiece: (received: number) => void): Promise<BodyResult> {
  const collected = new CollectedBody(place);
  for (;;) {
    onPiece(collected.length);
    const piece = await body.next();
    if (piece.ok && piece.value === undefined) return ok(collected);
    if (piece.ok && piece.value !== undefined && collected.add(piece.value)) continue;
    collected.release();
    return err(piece.ok ? BUSY : refusalFor(piece.error));
  }
}

function refusalFor(error: BodyError): Refusal | Disconnected {
  switch (error) {
    case "ended":
      return "disconnected";
    case "malformed":
      return badRequest("malformed chunked body");
    case "too-many-fields":
      return badRequest("too many fields after the body");
    case "too-large":
      return TOO_LARGE;
  }
}

class CollectedBody implements ReceivedBody {
  readonly #place: BodyPlace;
  #buffer: Buffer = Buffer.alloc(0);
  /** Bytes of the buffer that are filled. */
  #filled = 0;

  constructor(place: BodyPlace) {
    this.#place = place;
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
    this.#place.room.giveBack(this.#place.key, this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
    this.#filled = 0;
  }

  /** Pieces are copied together, as a body of single bytes would else cost a hundred times its size. */
  #makeRoom(needed: number): boolean {
    if (needed <= this.#buffer.length) return true;
    const { maxBytes, room, key } = this.#place;
    const steps = Math.max(Math.ceil(needed / STEP_BYTES) * STEP_BYTES, 2 * this.#buffer.length);
    const size = Math.max(needed, Math.min(steps, maxBytes));
    if (!room.take(key, size - this.#buffer.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#filled);
    this.#buffer = larger;
    return true;
  }
}
