import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import type { BodyFraming } from "./framing.ts";
import type { MessageError } from "./message-head.ts";
import { badRequest, TOO_LARGE } from "./refusal.ts";

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
