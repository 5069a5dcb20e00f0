import { err, ok, type Result } from "../src/base/result.ts";
import type { ByteReader } from "./byte-reader.ts";
import { MAX_HEADER_COUNT, MAX_TRAILER_BYTES } from "./limits.ts";
import { badRequest, type Refusal } from "./refusal.ts";
import { type BodyFraming, type Disconnected, parseHeader } from "./request-head.ts";

/** A request body, piece by piece; undefined is its end. */
export interface RequestBody {
  /** True when it is known that nothing follows. */
  readonly isComplete: boolean;
  next(): Promise<Result<Buffer | undefined, Refusal | Disconnected>>;
}

const TOO_LARGE: Refusal = { status: 413, message: "http: request body too large" };

/** Bytes read from a body at a time. */
const PIECE_BYTES = 64 * 1024;

/** No client sends bodies above 4 GiB here, so eight digits are enough; extensions are used by nobody and refused. */
const CHUNK_SIZE = /^[0-9a-fA-F]{1,8}$/;
const CHUNK_SIZE_DIGITS = 8;

/**
 * The body that follows a head, decoded.
 *
 * @param maxBytes largest body accepted: a larger one is refused with 413, at once when its length is announced
 */
export function openBody(reader: ByteReader, framing: BodyFraming, maxBytes: number): Result<RequestBody, Refusal> {
  switch (framing.kind) {
    case "none":
      return ok(new LengthBody(reader, 0));
    case "length":
      return framing.bytes > maxBytes ? err(TOO_LARGE) : ok(new LengthBody(reader, framing.bytes));
    case "chunked":
      return ok(new ChunkedBody(reader, maxBytes));
  }
}

class LengthBody implements RequestBody {
  readonly #reader: ByteReader;
  #remaining: number;

  constructor(reader: ByteReader, bytes: number) {
    this.#reader = reader;
    this.#remaining = bytes;
  }

  get isComplete(): boolean {
    return this.#remaining === 0;
  }

  async next(): Promise<Result<Buffer | undefined, Disconnected>> {
    if (this.#remaining === 0) return ok(undefined);
    const piece = await this.#reader.bytes(Math.min(this.#remaining, PIECE_BYTES));
    if (piece === undefined) return err("disconnected");
    this.#remaining -= piece.length;
    return ok(piece);
  }
}

class ChunkedBody implements RequestBody {
  /** The last chunk is known by the one after it. */
  readonly isComplete = false;
  readonly #reader: ByteReader;
  /** Bytes that the body may still have. */
  #allowance: number;
  /** Bytes that the current chunk still has. */
  #remaining = 0;

  constructor(reader: ByteReader, maxBytes: number) {
    this.#reader = reader;
    this.#allowance = maxBytes;
  }

  async next(): Promise<Result<Buffer | undefined, Refusal | Disconnected>> {
    if (this.#remaining === 0) {
      const size = await this.#chunkSize();
      if (!size.ok) return size;
      if (size.value === 0) return this.#trailers();
      if (size.value > this.#allowance) return err(TOO_LARGE);
      this.#allowance -= size.value;
      this.#remaining = size.value;
    }
    const piece = await this.#reader.bytes(Math.min(this.#remaining, PIECE_BYTES));
    if (piece === undefined) return err("disconnected");
    this.#remaining -= piece.length;
    if (this.#remaining === 0) {
      const end = await this.#line(0);
      if (!end.ok) return end;
    }
    return ok(piece);
  }

  async #chunkSize(): Promise<Result<number, Refusal | Disconnected>> {
    const line = await this.#line(CHUNK_SIZE_DIGITS);
    if (!line.ok) return line;
    return CHUNK_SIZE.test(line.value) ? ok(Number.parseInt(line.value, 16)) : err(badRequest("malformed chunk size"));
  }

  /** Fields after the last chunk are checked, so that the next request starts where the client thinks, and dropped. */
  async #trailers(): Promise<Result<undefined, Refusal | Disconnected>> {
    let budget = MAX_TRAILER_BYTES;
    for (let count = 0; count <= MAX_HEADER_COUNT; count++) {
      const line = await this.#line(Math.max(budget, 0));
      if (!line.ok) return line;
      if (line.value === "") return ok(undefined);
      budget -= line.value.length + 2;
      const field = parseHeader(line.value);
      if (!field.ok) return field;
    }
    return err(badRequest("too many fields after the body"));
  }

  async #line(maxBytes: number): Promise<Result<string, Refusal | Disconnected>> {
    const line = await this.#reader.nextLine(maxBytes);
    if (line.ok) return line;
    return err(line.error === "ended" ? "disconnected" : badRequest("malformed chunked body"));
  }
}
