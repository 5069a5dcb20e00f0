import type { Readable } from "node:stream";
import { err, ok, type Result } from "../src/base/result.ts";

/** Above this many unread bytes the socket is paused: the sender waits, memory does not grow. */
const HIGH_WATER_BYTES = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;

const NOTHING: Buffer = Buffer.alloc(0);

/** Why a line, a body or an answer cannot be read: it is longer than may be, it is malformed, or the sender broke off. */
export type ReadError = "too-long" | "malformed" | "ended";

/** The received, unread bytes of a socket: read as lines or as runs of bytes, with back-pressure. */
export class ByteReader {
  readonly #socket: Readable;
  #buffer: Buffer = NOTHING;
  /** First unread byte of the buffer. */
  #start = 0;
  #ended = false;
  #discarding = false;
  #wake: ((received: boolean) => void) | undefined;

  constructor(socket: Readable) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.receive(chunk));
    socket.on("end", () => this.stop());
    socket.on("close", () => this.stop());
  }

  /** Takes what has arrived: the data of the stream, and what a socket hands over by itself (`onread`). The chunk is kept. */
  receive(chunk: Buffer): void {
    if (this.#discarding) return;
    this.#buffer = this.unread === 0 ? chunk : Buffer.concat([this.#buffer.subarray(this.#start), chunk]);
    this.#start = 0;
    if (this.unread > HIGH_WATER_BYTES) this.#socket.pause();
    this.#wakeUp(true);
  }

  /** Bytes received and not read yet. */
  get unread(): number {
    return this.#buffer.length - this.#start;
  }

  /** True while more bytes can come. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /**
   * The next line without its CRLF, as latin1, so that every byte survives. Waits for its end. A bare line feed is malformed:
   * recipients that disagree on it disagree on where a message ends.
   *
   * @param maxBytes longest line accepted, without the CRLF
   */
  async nextLine(maxBytes: number): Promise<Result<string, ReadError>> {
    for (;;) {
      const line = this.line(maxBytes);
      if (line !== undefined) return line;
      if (!(await this.more())) return err("ended");
    }
  }

  /** The line that `nextLine` reads, when it need not wait for it; undefined when it must. */
  line(maxBytes: number): Result<string, ReadError> | undefined {
    const end = this.#buffer.indexOf(LF, this.#start);
    const length = (end === -1 ? this.unread : end - this.#start) - 1;
    if (length > maxBytes) return err("too-long");
    if (end === -1) return undefined;
    if (length < 0 || this.#buffer[end - 1] !== CR) return err("malformed");
    return ok(this.take(length + 2).toString("latin1", 0, length));
  }

  /** At most `maxBytes` of the bytes that are here. */
  take(maxBytes: number): Buffer {
    const part = this.#buffer.subarray(this.#start, this.#start + maxBytes);
    this.#advance(part.length);
    return part;
  }

  /** Between 1 and `maxBytes` bytes; undefined when the sender sends no more. */
  async bytes(maxBytes: number): Promise<Buffer | undefined> {
    while (this.unread === 0) if (!(await this.more())) return undefined;
    return this.take(maxBytes);
  }

  /** Waits for bytes that are not here yet; false when there will be none. */
  more(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    if (this.#socket.isPaused()) this.#socket.resume();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the reading: no more bytes come for a caller that waits. */
  stop(): void {
    this.#ended = true;
    this.#wakeUp(false);
  }

  /** Ends the reading and drops what still arrives. */
  discard(): void {
    this.#discarding = true;
    this.#buffer = NOTHING;
    this.#start = 0;
    this.stop();
    this.#socket.resume();
  }

  #advance(bytes: number): void {
    this.#start += bytes;
    if (this.unread === 0) {
      // A connection that waits for its next message holds no memory of the last one.
      this.#buffer = NOTHING;
      this.#start = 0;
    }
    if (this.unread <= HIGH_WATER_BYTES && this.#socket.isPaused()) this.#socket.resume();
  }

  #wakeUp(received: boolean): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(received);
  }
}
