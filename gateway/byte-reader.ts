import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { err, ok, type Result } from "../src/base/result.ts";

/** Above this many unread bytes the socket is paused: the sender waits, memory does not grow. */
const HIGH_WATER_BYTES = 64 * 1024;

/** Up to here a copy into one string costs less than two writes at once. */
const MAX_JOINED_BYTES = 8 * 1024;

const LF = 0x0a;
const CR = 0x0d;

const NOTHING: Buffer = Buffer.alloc(0);

/** Why a line cannot be read. */
export type LineError = "too-long" | "malformed";

/** The received, unread bytes of a socket: read as lines or as runs of bytes, with back-pressure. */
export class ByteReader {
  readonly #socket: Readable;
  #received: Buffer = NOTHING;
  /** Where the unread bytes of `#received` begin. */
  #start = 0;
  #ended = false;
  #wake: ((received: boolean) => void) | undefined;

  constructor(socket: Readable) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("end", () => this.#end());
    socket.on("close", () => this.#end());
  }

  /** Bytes received and not read yet. */
  get unread(): number {
    return this.#received.length - this.#start;
  }

  /** True while more bytes can come. */
  get isOpen(): boolean {
    return !this.#ended;
  }

  /**
   * The next line without its CRLF, as latin1, so that every byte survives; undefined while its end is not here. A bare line feed is
   * malformed: recipients that disagree on it disagree on where a message ends.
   *
   * @param maxBytes longest line accepted, without the CRLF
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

  /** At most `maxBytes` of the bytes that are here. */
  take(maxBytes: number): Buffer {
    const part = this.#received.subarray(this.#start, this.#start + maxBytes);
    this.#skip(part.length);
    return part;
  }

  /** Waits for bytes that are not here yet; false when there will be none. */
  more(): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the reading and drops what still arrives. */
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
      // A connection that waits for its next message holds no memory of the last one.
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

/**
 * Writes a head and what follows it in one system call.
 *
 * @param head latin1
 */
export function writeMessage(socket: Socket, head: string, body: Buffer): void {
  if (body.length <= MAX_JOINED_BYTES) return void socket.write(head + body.toString("latin1"), "latin1");
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
}

/** Resolves when the system has taken all that was written, or the socket is closed. */
export function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.writableLength === 0 || socket.destroyed) resolve();
    else socket.write("", () => resolve());
  });
}
