import { err, ok, type Result } from "../src/base/result.ts";
import { type BodyPages, PAGE_BYTES } from "./body-pages.ts";
import { freeReceived } from "./free-received.ts";
import type { BodyError, MessageBody } from "./message-body.ts";
import { BUSY, badRequest, type Refusal } from "./refusal.ts";
import type { Disconnected } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** A body that has arrived whole. */
export interface ReceivedBody {
  /** One after the other. */
  readonly pieces: readonly Buffer[];
  /**
   * Gives the room back. To be called once, when the bytes are not needed any more.
   *
   * @param isUnread true when it is certain that nobody will read the pieces, so that their memory can be written again
   */
  release(isUnread: boolean): void;
}

/** Where a body waits until it is whole. */
export interface BodyPlace {
  /** How long it can be at most. */
  readonly maxBytes: number;
  /** Bytes for all bodies that wait; one for which there is none left is refused with 503. */
  readonly room: Shares;
  /** Memory for it. */
  readonly pages: BodyPages;
  readonly key: ShareKey;
}

const NOTHING: Buffer = Buffer.alloc(0);

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
  return whole === undefined ? collect(body, place, onPiece) : ok(new WholeBody(whole));
}

type BodyResult = Result<ReceivedBody, Refusal | Disconnected>;

async function collect(body: MessageBody, place: BodyPlace, onPiece: (received: number) => void): Promise<BodyResult> {
  const collected = new CollectedBody(place);
  for (;;) {
    onPiece(collected.length);
    const piece = await body.next();
    if (piece.ok && piece.value === undefined) return ok(collected);
    if (piece.ok && piece.value !== undefined && collected.add(piece.value)) continue;
    collected.release(true);
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

class WholeBody implements ReceivedBody {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get pieces(): readonly Buffer[] {
    return [this.#bytes];
  }

  release(isUnread: boolean): void {
    if (isUnread) freeReceived(this.#bytes);
  }
}

class CollectedBody implements ReceivedBody {
  readonly #place: BodyPlace;
  /** All full, but the last. */
  #pages: Buffer[] = [];
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
    const last = this.#length % PAGE_BYTES;
    return this.#pages.map((page, index) =>
      last > 0 && index === this.#pages.length - 1 ? page.subarray(0, last) : page,
    );
  }

  /** Keeps the next piece; false when there is no room for it. */
  add(piece: Buffer): boolean {
    const { maxBytes, room, key, pages } = this.#place;
    for (let copied = 0; copied < piece.length; ) {
      const used = this.#length % PAGE_BYTES;
      if (used === 0) {
        const bytes = Math.min(PAGE_BYTES, maxBytes - this.#taken);
        if (!room.take(key, bytes)) return false;
        this.#taken += bytes;
        this.#pages.push(pages.take());
      }
      const count = piece.copy(this.#pages.at(-1) ?? NOTHING, used, copied);
      copied += count;
      this.#length += count;
    }
    freeReceived(piece);
    return true;
  }

  release(isUnread: boolean): void {
    this.#place.room.giveBack(this.#place.key, this.#taken);
    if (isUnread) this.#place.pages.giveBack(this.#pages);
    this.#taken = 0;
    this.#pages = [];
    this.#length = 0;
  }
}
