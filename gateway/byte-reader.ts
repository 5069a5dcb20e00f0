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

/** Why a line, a body or an answer cannot be read: it is longer than may be, it is malformed, or the sender broke off. */
export type ReadError = "too-long" | "malformed" | "ended";

/** The received, unread bytes of a socket: read as lines or as runs of bytes, with back-pressure. */
export class ByteReader {
  readonly #socket: Readable;
  #unread: Buffer = NOTHING;
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
    return this.#unread.length;
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
    const end = this.#unread.indexOf(LF);
    const length = (end === -1 ? this.unread : end) - 1;
    if (length > maxBytes) return err("too-long");
    if (end === -1) return undefined;
    if (this.#unread[end - 1] !== CR) return err("malformed");
    return ok(this.take(length + 2).toString("latin1", 0, length));
  }

  /** At most `maxBytes` of the bytes that are here. */
  take(maxBytes: number): Buffer {
    const part = this.#unread.subarray(0, maxBytes);
    // A connection that waits for its next message holds no memory of the last one.
    this.#unread = part.length === this.unread ? NOTHING : this.#unread.subarray(part.length);
    if (this.unread <= HIGH_WATER_BYTES && this.#socket.isPaused()) this.#socket.resume();
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
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Ends the reading and drops what still arrives. */
  discard(): void {
    this.#unread = NOTHING;
    this.#end();
    this.#socket.removeAllListeners("data").resume();
  }

  #receive(chunk: Buffer): void {
    this.#unread = this.unread === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    if (this.unread > HIGH_WATER_BYTES) this.#socket.pause();
    this.#wakeUp(true);
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
