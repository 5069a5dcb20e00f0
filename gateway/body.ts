import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import type { BodyFraming, MessageError } from "./heads.ts";
import { FIRST_KEPT_BYTES } from "./limits.ts";
import { badRequest, TOO_LARGE } from "./refusal.ts";
import type { Holding, Room } from "./room.ts";
import type { ShareNetworks } from "./shares.ts";

/** Maximum size of a piece of a body. */
const PIECE_BYTES = 64 * 1024;

/** Eight digits allow 4 GiB. Chunk extensions are refused: no client uses them. */
const CHUNK_SIZE = /^[0-9a-fA-F]{1,8}$/;
const CHUNK_SIZE_DIGITS = 8;

const MALFORMED = badRequest("malformed chunked body");

/** Reads and decodes the body of a message. */
export class MessageBody {
  readonly #reader: ByteReader;
  readonly #isChunked: boolean;
  /** Bytes that the body may still have. */
  #allowance: number;
  /** Unread bytes of the current chunk, or of a body that is not chunked. */
  #remaining: number;
  /** True until the last chunk was read. */
  #goesOn: boolean;

  /** @param maxBytes maximum size of the body */
  constructor(reader: ByteReader, framing: BodyFraming, maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#reader = reader;
    this.#isChunked = framing.kind === "chunked";
    this.#allowance = maxBytes;
    this.#remaining = framing.kind === "length" ? framing.bytes : 0;
    this.#goesOn = this.#isChunked;
  }

  /** True when the announced length is too large. */
  get isTooLarge(): boolean {
    return this.#remaining > this.#allowance;
  }

  /** True after the whole body was read. */
  get isRead(): boolean {
    return this.#remaining === 0 && !this.#goesOn;
  }

  /** The whole body, if it is not chunked and has arrived already. Only before anything was read. */
  takeWhole(): Buffer | undefined {
    return this.#isChunked || this.#reader.unread < this.#remaining ? undefined : this.#reader.take(this.#remaining);
  }

  /** Waits for the next piece. Only before `isRead`. The piece is empty at the end of a chunked body. */
  async next(): Promise<Result<Buffer, MessageError>> {
    if (this.#remaining === 0) {
      const size = await this.#line(CHUNK_SIZE_DIGITS);
      if (!size.ok) return size;
      if (!CHUNK_SIZE.test(size.value)) return err(MALFORMED);
      this.#remaining = Number.parseInt(size.value, 16);
      if (this.#remaining > this.#allowance) return err(TOO_LARGE);
      this.#allowance -= this.#remaining;
      this.#goesOn = this.#remaining > 0;
    }
    while (this.#remaining > 0 && this.#reader.unread === 0) if (!(await this.#reader.more())) return err("ended");
    const piece = this.#reader.take(Math.min(this.#remaining, PIECE_BYTES));
    this.#remaining -= piece.length;
    if (this.#isChunked && this.#remaining === 0) {
      // Trailers are refused: no client sends them, and another reader could believe a length in them.
      const end = await this.#line(0);
      if (!end.ok) return end;
    }
    return ok(piece);
  }

  async #line(maxBytes: number): Promise<Result<string, MessageError>> {
    const line = await this.#reader.nextLine(maxBytes);
    return line.ok ? line : err(line.error === "ended" ? "ended" : MALFORMED);
  }
}

/**
 * Buffers a body until it is complete. Its memory counts for the client and grows with the received bytes, so an announced
 * body uses none. The pieces are copied: kept as they arrive, packets of one byte would use far more memory than is counted.
 */
export class KeptBytes implements Holding {
  readonly networks: ShareNetworks;
  readonly drop: () => void;
  heldBytes = 0;
  length = 0;
  readonly #room: Room;
  readonly #maxBytes: number;
  #memory: Buffer = Buffer.alloc(0);

  /**
   * @param maxBytes maximum size of the body
   * @param drop see {@link Holding}
   */
  constructor(room: Room, networks: ShareNetworks, maxBytes: number, drop: () => void) {
    this.networks = networks;
    this.drop = drop;
    this.#room = room;
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
      if (size < needed || !this.#room.admits(this.networks, more) || !this.#room.grow(this, more)) return false;
      const memory = Buffer.allocUnsafeSlow(size);
      this.bytes.copy(memory);
      this.#memory = memory;
    }
    piece.copy(this.#memory, this.length);
    this.length = needed;
    this.#room.shrink(this, 0);
    return true;
  }

  /** Keeps the complete body until `release`. */
  complete(): Buffer {
    this.#room.pin(this);
    return this.bytes;
  }

  /** Gives the memory back, when the bytes are no longer needed. Safe to repeat. */
  release(): void {
    this.#room.end(this);
  }
}
