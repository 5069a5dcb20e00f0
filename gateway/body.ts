import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import type { BodyFraming, MessageError } from "./heads.ts";
import { FIRST_KEPT_BYTES } from "./limits.ts";
import { badRequest, TOO_LARGE } from "./refusal.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** Bytes read from a body at a time. */
const PIECE_BYTES = 64 * 1024;

/** No client sends bodies above 4 GiB here, so eight digits are enough. Extensions are refused: no client uses them. */
const CHUNK_SIZE = /^[0-9a-fA-F]{1,8}$/;
const CHUNK_SIZE_DIGITS = 8;

const MALFORMED = badRequest("malformed chunked body");

/** The body that follows a head, decoded. */
export class MessageBody {
  readonly #reader: ByteReader;
  readonly #isChunked: boolean;
  /** Bytes that the body may still have. */
  #allowance: number;
  /** Bytes that the current chunk still has, or a body that is not chunked. */
  #remaining: number;
  /** True while another chunk follows the current one. */
  #goesOn: boolean;

  /** @param maxBytes largest body accepted */
  constructor(reader: ByteReader, framing: BodyFraming, maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#reader = reader;
    this.#isChunked = framing.kind === "chunked";
    this.#allowance = maxBytes;
    this.#remaining = framing.kind === "length" ? framing.bytes : 0;
    this.#goesOn = this.#isChunked;
  }

  /** True when the length that was announced is too large. */
  get isTooLarge(): boolean {
    return this.#remaining > this.#allowance;
  }

  /** True when all of the body has been read. */
  get isRead(): boolean {
    return this.#remaining === 0 && !this.#goesOn;
  }

  /** All of the body when it is here already, without waiting; to be asked before anything is read. Never of a chunked one. */
  takeWhole(): Buffer | undefined {
    return this.#isChunked || this.#reader.unread < this.#remaining ? undefined : this.#reader.take(this.#remaining);
  }

  /** The next piece of a body that is not read yet; empty at the end of a chunked one. */
  async next(): Promise<Result<Buffer, MessageError>> {
    if (this.#remaining === 0) {
      const begun = await this.#beginChunk();
      if (!begun.ok) return begun;
    }
    while (this.#remaining > 0 && this.#reader.unread === 0) if (!(await this.#reader.more())) return err("ended");
    const piece = this.#reader.take(Math.min(this.#remaining, PIECE_BYTES));
    this.#remaining -= piece.length;
    if (this.#isChunked && this.#remaining === 0) {
      // Fields after the last chunk are refused: no client sends them, and a length there could be believed further on.
      const end = await this.#line(0);
      if (!end.ok) return end;
    }
    return ok(piece);
  }

  /** Reads the size of the next chunk. */
  async #beginChunk(): Promise<Result<unknown, MessageError>> {
    const line = await this.#line(CHUNK_SIZE_DIGITS);
    if (!line.ok) return line;
    if (!CHUNK_SIZE.test(line.value)) return err(MALFORMED);
    const size = Number.parseInt(line.value, 16);
    if (size > this.#allowance) return err(TOO_LARGE);
    this.#allowance -= size;
    this.#remaining = size;
    this.#goesOn = size > 0;
    return line;
  }

  async #line(maxBytes: number): Promise<Result<string, MessageError>> {
    for (;;) {
      const line = this.#reader.line(maxBytes);
      if (line !== undefined) return line.ok ? line : err(MALFORMED);
      if (!(await this.#reader.more())) return err("ended");
    }
  }
}

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
