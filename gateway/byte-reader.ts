import type { Readable } from "node:stream";
import { err, ok, type Result } from "../src/base/result.ts";
import { freeReceived } from "./free-received.ts";

/** Above this many unread bytes the socket is paused: the sender waits, memory does not grow. */
const HIGH_WATER_BYTES = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const HEAD_END = "\r\n\r\n";

const NOTHING: Buffer = Buffer.alloc(0);

/** Why a line cannot be read. */
export type LineError = "too-long" | "malformed" | "ended";

/** The received, unread bytes of a socket: read as lines or as runs of bytes, with back-pressure. */
export class ByteReader {
  readonly #socket: Readable;
  #buffer: Buffer = NOTHING;
  /** First unread byte of the buffer. */
  #start = 0;
  /** Bytes after `#start` that are known to hold no line feed. */
  #scanned = 0;
  /** The unread bytes up to the end of a head, as text; "" unless all of a head is here. */
  #head = "";
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
    if (this.#discarding) {
      freeReceived(chunk);
      return;
    }
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
   * To be called where a head begins. When all of it is here, its lines come from one string: to ask the buffer for each of
   * them costs several times as much.
   *
   * @param maxBytes longest head that is decoded at once
   */
  decodeHead(maxBytes: number): void {
    const end = this.#buffer.indexOf(HEAD_END, this.#start, "latin1");
    if (end === -1 || end - this.#start > maxBytes) return;
    this.#head = this.#buffer.toString("latin1", this.#start, end + HEAD_END.length);
  }

  /**
   * The next line without its CRLF, as latin1 so that every byte survives; undefined while its end has not arrived.
   * A line feed without a carriage return before it is malformed: recipients that disagree on it can be made to disagree
   * on where a message ends.
   *
   * @param maxBytes longest line accepted, without the CRLF
   */
  line(maxBytes: number): Result<string | undefined, LineError> {
    if (this.#head !== "") return this.#headLine(maxBytes);
    const end = this.#buffer.indexOf(LF, this.#start + this.#scanned);
    if (end === -1) {
      this.#scanned = this.unread;
      return this.#scanned > maxBytes + 1 ? err("too-long") : ok(undefined);
    }
    if (end === this.#start || this.#buffer[end - 1] !== CR) return err("malformed");
    if (end - 1 - this.#start > maxBytes) return err("too-long");
    const text = this.#buffer.toString("latin1", this.#start, end - 1);
    this.#advance(end + 1 - this.#start);
    return ok(text);
  }

  /** As `line`, but waits for the end of the line. */
  async nextLine(maxBytes: number): Promise<Result<string, LineError>> {
    for (;;) {
      const line = this.line(maxBytes);
      if (!line.ok) return line;
      if (line.value !== undefined) return ok(line.value);
      if (!(await this.more())) return err("ended");
    }
  }

  /** At most `maxBytes` of the bytes that are here. */
  take(maxBytes: number): Buffer {
    this.#head = "";
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

  /** Ends the reading: whoever waits for bytes is told that there are none. */
  stop(): void {
    this.#ended = true;
    this.#wakeUp(false);
  }

  /** Ends the reading and drops what still arrives. */
  discard(): void {
    this.#discarding = true;
    this.#empty();
    this.#head = "";
    this.stop();
    this.#socket.resume();
  }

  #headLine(maxBytes: number): Result<string, LineError> {
    const end = this.#head.indexOf("\n");
    if (end === 0 || this.#head.charCodeAt(end - 1) !== CR) return err("malformed");
    if (end - 1 > maxBytes) return err("too-long");
    const text = this.#head.slice(0, end - 1);
    this.#head = this.#head.slice(end + 1);
    this.#start += end + 1;
    if (this.#head === "") this.#advance(0);
    return ok(text);
  }

  #advance(bytes: number): void {
    this.#start += bytes;
    this.#scanned = 0;
    // A connection that waits for its next message holds no memory of the last one.
    if (this.unread === 0) this.#empty();
    if (this.unread <= HIGH_WATER_BYTES && this.#socket.isPaused()) this.#socket.resume();
  }

  #empty(): void {
    this.#buffer = NOTHING;
    this.#start = 0;
  }

  #wakeUp(received: boolean): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(received);
  }
}
