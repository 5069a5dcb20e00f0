import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import { MAX_HEADER_COUNT, MAX_TRAILER_BYTES } from "./limits.ts";
import { type BodyFraming, parseHeader } from "./message-head.ts";

/** Why a body has no end: the sender broke off, it is malformed, or it is longer than may be. */
export type BodyError = "ended" | "malformed" | "too-many-fields" | "too-large";

/** The body of a request or of an answer, decoded. */
export interface MessageBody {
  /** All of the body when it is here already, without waiting; to be asked before anything is read. */
  takeWhole(): Buffer | undefined;
  /** Waits for more of it to arrive, without reading it; false when no more comes. Not for more bytes than a reader holds. */
  more(): Promise<boolean>;
  /** The next piece; undefined is the end. */
  next(): Promise<Result<Buffer | undefined, BodyError>>;
}

/** Bytes read from a body at a time. */
const PIECE_BYTES = 64 * 1024;

/** Fields that say where a message ends. */
const FRAMING_FIELDS: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);
/** No client sends bodies above 4 GiB here, so eight digits are enough; extensions are used by nobody and refused. */
const CHUNK_SIZE = /^[0-9a-fA-F]{1,8}$/;
const CHUNK_SIZE_DIGITS = 8;

const NOTHING = Buffer.alloc(0);

/** The body that follows a head. `maxBytes`: largest one accepted; a longer one is refused, at once when its length is announced. */
export function openBody(
  reader: ByteReader,
  framing: BodyFraming,
  maxBytes: number = Number.POSITIVE_INFINITY,
): Result<MessageBody, "too-large"> {
  switch (framing.kind) {
    case "none":
      return ok(new LengthBody(reader, 0));
    case "length":
      return framing.bytes > maxBytes ? err("too-large") : ok(new LengthBody(reader, framing.bytes));
    case "chunked":
      return ok(new ChunkedBody(reader, maxBytes));
  }
}

class LengthBody implements MessageBody {
  readonly #reader: ByteReader;
  #remaining: number;

  constructor(reader: ByteReader, bytes: number) {
    this.#reader = reader;
    this.#remaining = bytes;
  }

  takeWhole(): Buffer | undefined {
    if (this.#remaining === 0) return NOTHING;
    if (this.#reader.unread < this.#remaining) return undefined;
    const whole = this.#reader.take(this.#remaining);
    this.#remaining = 0;
    return whole;
  }

  more(): Promise<boolean> {
    return this.#reader.more();
  }

  async next(): Promise<Result<Buffer | undefined, BodyError>> {
    if (this.#remaining === 0) return ok(undefined);
    const piece = await this.#reader.bytes(Math.min(this.#remaining, PIECE_BYTES));
    if (piece === undefined) return err("ended");
    this.#remaining -= piece.length;
    return ok(piece);
  }
}

class ChunkedBody implements MessageBody {
  readonly #reader: ByteReader;
  /** Bytes that the body may still have. */
  #allowance: number;
  /** Bytes that the current chunk still has. */
  #remaining = 0;
  #ended = false;

  constructor(reader: ByteReader, maxBytes: number) {
    this.#reader = reader;
    this.#allowance = maxBytes;
  }

  /** Where it ends is known only by reading it. */
  takeWhole(): undefined {
    return undefined;
  }

  more(): Promise<boolean> {
    return this.#reader.more();
  }

  async next(): Promise<Result<Buffer | undefined, BodyError>> {
    if (this.#ended) return ok(undefined);
    if (this.#remaining === 0) {
      const size = await this.#chunkSize();
      if (!size.ok) return size;
      if (size.value === 0) return this.#trailers();
      if (size.value > this.#allowance) return err("too-large");
      this.#allowance -= size.value;
      this.#remaining = size.value;
    }
    const piece = await this.#reader.bytes(Math.min(this.#remaining, PIECE_BYTES));
    if (piece === undefined) return err("ended");
    this.#remaining -= piece.length;
    if (this.#remaining === 0) {
      const end = await this.#line(0);
      if (!end.ok) return end;
    }
    return ok(piece);
  }

  async #chunkSize(): Promise<Result<number, BodyError>> {
    const line = await this.#line(CHUNK_SIZE_DIGITS);
    if (!line.ok) return line;
    return CHUNK_SIZE.test(line.value) ? ok(Number.parseInt(line.value, 16)) : err("malformed");
  }

  /** Fields after the last chunk are checked, so that the next message starts where the sender thinks, and dropped. */
  async #trailers(): Promise<Result<undefined, BodyError>> {
    let budget = MAX_TRAILER_BYTES;
    for (let count = 0; count <= MAX_HEADER_COUNT; count++) {
      const line = await this.#line(Math.max(budget, 0));
      if (!line.ok) return line;
      if (line.value === "") {
        this.#ended = true;
        return ok(undefined);
      }
      budget -= line.value.length + 2;
      const field = parseHeader(line.value);
      // A length behind the body could be believed by somebody further on.
      if (!field.ok || FRAMING_FIELDS.has(field.value.lower)) return err("malformed");
    }
    return err("too-many-fields");
  }

  async #line(maxBytes: number): Promise<Result<string, BodyError>> {
    const line = await this.#reader.nextLine(maxBytes);
    return line.ok ? line : err(line.error === "ended" ? "ended" : "malformed");
  }
}
