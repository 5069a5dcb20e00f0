import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { err, ok, type Result } from "../src/base/result.ts";

/** The socket is paused above this many unread bytes, so that the sender waits. */
const HIGH_WATER_BYTES = 64 * 1024;
/** Maximum size of a body that is written with its head as one string. */
const MAX_JOINED_BYTES = 8 * 1024;

const LF = 0x0a;
const CR = 0x0d;

const NOTHING: Buffer = Buffer.alloc(0);

/** Why a line cannot be read. */
export type LineError = "too-long" | "malformed";

/** Reads lines and bytes from a socket, with back-pressure. */
export class ByteReader {
  readonly #socket: Readable;
  #received: Buffer = NOTHING;
  /** Start of the unread bytes in `#received`. */
  #start = 0;
  #ended = false;
  #wake: ((received: boolean) => void) | undefined;

  constructor(socket: Readable) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("end", () => this.#end());
    socket.on("close", () => this.#end());
  }

  /** Number of bytes that were received and not read. */
  get unread(): number {
    return this.#received.length - this.#start;
  }

  /** True while more bytes can arrive. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /**
   * The next line without its CRLF, as latin1, which keeps every byte; undefined while it is incomplete. A bare line feed is
   * malformed: recipients that disagree about it disagree about the end of a message.
   *
   * @param maxBytes maximum length of the line without the CRLF
   */
  line(maxBytes: number): Result<string, LineError> | undefined {
    const end = this.#received.indexOf(LF, this.#start);
    const length = (end === -1 ? this.unread : end - this.#start) - 1;
    if (length > maxBytes) return err("too-long");
    if (end === -1) return undefined;
    if (length < 0 || this.#received[end - 1] !== CR) return err("malformed");
    const text = this.#received.toString("latin1", this.#start, end - 1);
    this.#skip(length + 2);
    return ok(text);
  }

  /** Waits for the next line. See `line`. */
  async nextLine(maxBytes: number): Promise<Result<string, LineError | "ended">> {
    for (;;) {
      const line = this.line(maxBytes);
      if (line !== undefined) return line;
      if (!(await this.more())) return err("ended");
    }
  }

  /** Takes at most `maxBytes` of the unread bytes. */
  take(maxBytes: number): Buffer {
    const part = this.#received.subarray(this.#start, this.#start + maxBytes);
    this.#skip(part.length);
    return part;
  }

  /** Waits until more bytes arrive; false when the sender has ended. */
  more(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the reading and discards all further bytes. */
  discard(): void {
    this.#skip(this.unread);
    this.#end();
    this.#socket.removeAllListeners("data").resume();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.unread === 0 ? chunk : Buffer.concat([this.#received.subarray(this.#start), chunk]);
    this.#start = 0;
    if (this.unread > HIGH_WATER_BYTES) this.#socket.pause();
    this.#wakeUp(true);
  }

  #skip(bytes: number): void {
    this.#start += bytes;
    if (this.unread === 0) {
      // An idle connection keeps no memory of its last message.
      this.#received = NOTHING;
      this.#start = 0;
    }
    if (this.unread <= HIGH_WATER_BYTES && this.#socket.isPaused()) this.#socket.resume();
  }

  #end(): void {
    this.#ended = true;
    this.#wakeUp(false);
  }

  #wakeUp(received: boolean): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(received);
  }
}

/** Writes a head (latin1), a body and an end. A short body is copied into one string, which costs less than more writes. */
export function writeMessage(socket: Socket, head: string, body: Buffer, end = ""): void {
  if (body.length <= MAX_JOINED_BYTES) return void socket.write(head + body.toString("latin1") + end, "latin1");
  socket.write(head, "latin1");
  socket.write(body);
  if (end !== "") socket.write(end);
}

/** Resolves when the operating system has taken all that was written, or the socket is closed. */
export function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.writableLength === 0 || socket.destroyed) resolve();
    else socket.write("", () => resolve());
  });
}
