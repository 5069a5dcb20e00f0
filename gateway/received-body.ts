import { err, ok, type Result } from "../src/base/result.ts";
import type { BodyError, MessageBody } from "./message-body.ts";
import { BUSY, badRequest, type Refusal } from "./refusal.ts";
import type { Disconnected } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** A body that has arrived whole. */
export interface ReceivedBody {
  /** One after the other. */
  readonly pieces: readonly Buffer[];
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

/** Room is taken in steps of this at least, so that a thousand bodies of one byte are not for free. Pieces of this length are large. */
const STEP_BYTES = 16 * 1024;

const NOTHING: Buffer = Buffer.alloc(0);
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
  return whole === undefined ? collect(body, place, onPiece) : ok({ pieces: [whole], release: NO_RELEASE });
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

/**
 * Large pieces are kept as they came: copied into one, they would leave several times the memory of the body behind. Small ones are
 * copied together, as a body of single bytes would else cost a hundred times its size.
 */
class CollectedBody implements ReceivedBody {
  readonly #place: BodyPlace;
  /** All full, but the last. */
  #pieces: Buffer[] = [];
  /** The last piece, when small pieces are copied there. */
  #block: Buffer = NOTHING;
  /** Bytes of the block that are filled. */
  #filled = 0;
  #length = 0;
  /** Room that is taken. */
  #taken = 0;

  constructor(place: BodyPlace) {
    this.#place = place;
  }

  get length(): number {
    return this.#length;
  }

  get pieces(): readonly Buffer[] {
    if (this.#filled === this.#block.length) return this.#pieces;
    return [...this.#pieces.slice(0, -1), this.#block.subarray(0, this.#filled)];
  }

  /** Keeps the next piece; false when there is no room for it. */
  add(piece: Buffer): boolean {
    const copied = this.#copy(piece);
    const rest = piece.subarray(copied);
    if (rest.length >= STEP_BYTES) {
      if (!this.#takeRoom(rest.length)) return false;
      this.#pieces.push(rest);
    } else if (rest.length > 0) {
      const size = Math.min(STEP_BYTES, this.#place.maxBytes - this.#taken);
      if (!this.#takeRoom(size)) return false;
      this.#block = Buffer.allocUnsafeSlow(size);
      this.#filled = 0;
      this.#pieces.push(this.#block);
      this.#copy(rest);
    }
    this.#length += piece.length;
    return true;
  }

  release(): void {
    this.#place.room.giveBack(this.#place.key, this.#taken);
    this.#taken = 0;
    this.#pieces = [];
    this.#block = NOTHING;
    this.#filled = 0;
  }

  /** Copies what fits into the block. */
  #copy(piece: Buffer): number {
    const copied = piece.copy(this.#block, this.#filled);
    this.#filled += copied;
    return copied;
  }

  #takeRoom(bytes: number): boolean {
    if (!this.#place.room.take(this.#place.key, bytes)) return false;
    this.#taken += bytes;
    return true;
  }
}
