import { ok, type Result } from "../src/base/result.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestBody } from "./request-body.ts";
import type { Disconnected } from "./request-head.ts";

/** Memory for bodies that are held back, shared by all connections. */
export class BodyRoom {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes a part of it, or nothing when there is not so much left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

/** A body of which the beginning, mostly all of it, has arrived. */
export interface HeldBody extends RequestBody {
  /** Gives the memory back. To be called once, when the body is not read any more. */
  release(): void;
}

/**
 * Waits for a body before the service hears of the request. A connection to the service is scarce; a client that sends
 * half a body and no more would hold one for as long as it is given time, and a few hundred such clients all of them.
 *
 * @param maxBytes how much of a body is waited for: the rest of a longer one is read while it is passed on
 * @param room where the bytes are kept; when it is used up, what has arrived is passed on without waiting
 */
export async function holdBody(
  body: RequestBody,
  maxBytes: number,
  room: BodyRoom,
): Promise<Result<HeldBody, Refusal | Disconnected>> {
  const held = new Held(body, room);
  while (held.length <= maxBytes) {
    const piece = await body.next();
    if (!piece.ok) {
      held.release();
      return piece;
    }
    if (!held.add(piece.value)) break;
  }
  return ok(held);
}

class Held implements HeldBody {
  readonly #rest: RequestBody;
  readonly #room: BodyRoom;
  #bytes: Buffer = Buffer.alloc(0);
  /** Bytes of the buffer that are filled. */
  #filled = 0;
  /** A piece for which there was no room. */
  #extra: Buffer | undefined;
  #complete = false;

  constructor(rest: RequestBody, room: BodyRoom) {
    this.#rest = rest;
    this.#room = room;
  }

  get length(): number {
    return this.#filled;
  }

  /** Keeps the next piece, undefined being the end. Returns whether there is something to wait for and room for it. */
  add(piece: Buffer | undefined): boolean {
    if (piece === undefined) this.#complete = true;
    else if (this.#makeRoom(piece.length)) this.#filled += piece.copy(this.#bytes, this.#filled);
    else this.#extra = piece;
    return !this.#complete && this.#extra === undefined;
  }

  async next(): Promise<Result<Buffer | undefined, Refusal | Disconnected>> {
    if (this.#filled > 0) {
      const beginning = this.#bytes.subarray(0, this.#filled);
      this.#filled = 0;
      return ok(beginning);
    }
    const extra = this.#extra;
    this.#extra = undefined;
    if (extra !== undefined || this.#complete) return ok(extra);
    return this.#rest.next();
  }

  release(): void {
    this.#room.giveBack(this.#bytes.length);
    this.#bytes = Buffer.alloc(0);
  }

  /** Pieces are copied together, as a body of single bytes would else cost a hundred times its size. */
  #makeRoom(bytes: number): boolean {
    const needed = this.#filled + bytes;
    if (needed <= this.#bytes.length) return true;
    const size = Math.max(needed, 2 * this.#bytes.length);
    if (!this.#room.take(size - this.#bytes.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(larger, 0, 0, this.#filled);
    this.#bytes = larger;
    return true;
  }
}
