import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createRawServer, type Socket } from "node:net";
import fc from "fast-check";
import { onTestFinished } from "vitest";
import type { Limits } from "../../../gateway/limits.ts";
import { type Gateway, startGateway } from "../../../gateway/server.ts";
import type { UpstreamAddress } from "../../../gateway/upstream.ts";
import { parseTrustedProxies } from "../../../scripts/gateway/arguments.ts";

/** A request as the service received it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Reads a request to its end; fails when the sender breaks off. */
async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}

/** Starts a service for one test. */
export async function startService(listener: RequestListener): Promise<{ server: Server; url: string }> {
  // Above the gateway's own limit, so that it is the gateway's that is tested.
  const server = createServer({ maxHeaderSize: 64 * 1024 }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A service that remembers what it received, in order, and answers with the target and the body. */
export async function startRecorder(): Promise<{ url: string; seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const { url } = await startService(async (request, response) => {
    const body = await readBody(request).catch(() => undefined);
    if (body === undefined) return;
    const { method = "", url: target = "", headers } = request;
    seen.push({ method, target, headers, body });
    response.setHeader("Content-Type", "text/plain").end(`${method} ${target} ${body}`);
  });
  return { url, seen };
}

/** What a test may choose of its gateway. */
export interface TestGateway extends Partial<Limits> {
  readonly trustProxy?: string;
  readonly isRestarted?: boolean;
  readonly readiness?: () => Promise<boolean>;
  readonly log?: (line: string) => void;
  readonly audit?: (line: string) => void;
}

/** Starts a gateway for one test, on a free port. */
export async function startTestGateway(to: string | UpstreamAddress, options: TestGateway = {}): Promise<Gateway> {
  const { trustProxy, ...chosen } = options;
  const trustedProxies = parseTrustedProxies(trustProxy);
  if (!trustedProxies.ok) throw new Error(trustedProxies.error);
  const gateway = await startGateway({
    listen: { host: "127.0.0.1", port: 0 },
    upstream: typeof to === "string" ? { kind: "origin", url: new URL(to) } : to,
    trustedProxies: trustedProxies.value,
    // All clients of a test have one address.
    clientSharePercent: 100,
    log: () => {},
    audit: () => {},
    stopMs: 0,
    ...chosen,
  });
  if (!gateway.ok) throw new Error(gateway.error);
  onTestFinished(() => gateway.value.stop());
  return gateway.value;
}

/** An answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  /** Header lines by name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A client that sends bytes as they are and reads answers strictly. */
export class RawClient {
  readonly socket: Socket;
  #received = "";
  #over: "open" | "ended" | "reset" = "open";
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#received += chunk.toString("latin1");
      this.#wake();
    });
    socket.on("end", () => this.#finish("ended"));
    socket.on("error", () => this.#finish("reset"));
    socket.on("close", () => this.#finish("ended"));
  }

  /** @param localAddress the client's own address: every one of 127.0.0.0/8 is this machine. */
  static async connect(port: number, localAddress = "127.0.0.1"): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true, allowHalfOpen: true });
    await once(socket, "connect");
    onTestFinished(() => {
      socket.destroy();
    });
    return new RawClient(socket);
  }

  /** Sends bytes and waits until they have left. */
  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) =>
      this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, () => resolve()),
    );
  }

  /** The next answer with its body. Fails on one that is cut off. */
  async answer(options: { readonly toHead?: boolean } = {}): Promise<WireAnswer> {
    const head = await this.#through("\r\n\r\n");
    const [statusLine = "", ...lines] = head.slice(0, -4).split("\r\n");
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
    );
    const status = Number(statusLine.split(" ")[1]);
    const bodiless = options.toHead === true || status < 200 || status === 204 || status === 304;
    return { status, headers, body: bodiless ? "" : await this.#body(headers) };
  }

  /** How the server ended the connection, and what it sent before that was not read yet. */
  async end(): Promise<{ how: "ended" | "reset"; rest: string }> {
    while (this.#over === "open") await this.#more();
    return { how: this.#over, rest: this.#received };
  }

  async #body(headers: ReadonlyMap<string, string>): Promise<string> {
    const length = headers.get("content-length");
    if (length !== undefined) return this.#take(Number(length));
    if (headers.get("transfer-encoding") === "chunked") {
      let body = "";
      for (;;) {
        const size = Number.parseInt(await this.#through("\r\n"), 16);
        body += await this.#take(size);
        await this.#through("\r\n");
        if (size === 0) return body;
      }
    }
    const { how, rest } = await this.end();
    if (how === "reset") throw new Error("reset in the middle of an answer");
    return rest;
  }

  async #through(mark: string): Promise<string> {
    while (!this.#received.includes(mark)) {
      if (this.#over !== "open")
        throw new Error(`the connection is ${this.#over} after ${JSON.stringify(this.#received)}`);
      await this.#more();
    }
    return this.#take(this.#received.indexOf(mark) + mark.length);
  }

  async #take(length: number): Promise<string> {
    while (this.#received.length < length) {
      if (this.#over !== "open") throw new Error("the connection ended in the middle of an answer");
      await this.#more();
    }
    const taken = this.#received.slice(0, length);
    this.#received = this.#received.slice(length);
    return taken;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #finish(how: "ended" | "reset"): void {
    if (this.#over === "open") this.#over = how;
    this.#wake();
  }
}

/** The head of a request for this host, with the header lines given. */
export function request(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, "Host: grove.test", ...headers, "", ""].join("\r\n");
}

/** Starts a server that speaks bytes for one test, and returns its address. */
export async function startRawService(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createRawServer((socket) => {
    socket.on("error", () => {});
    onTestFinished(() => {
      socket.destroy();
    });
    onConnection(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Pieces of messages that change the meaning of a message when they stand in the wrong place. */
const SPLINTERS = [
  ..."\r\n\t :;,+-01f\0\v",
  "\r\n",
  "\r\n\r\n",
  "0\r\n\r\n",
  "chunked",
  "HTTP/1.0",
  "Transfer-Encoding: chunked\r\n",
  "Content-Length: 3\r\n",
  "Content-Length: 0\r\n",
];

/** Messages of `whole` in which one to three places are damaged: bytes are missing, or a splinter stands there. */
export function damaged(whole: fc.Arbitrary<string>, splinters: readonly string[]): fc.Arbitrary<string> {
  const damage = fc.record({
    at: fc.nat(999),
    remove: fc.integer({ min: 0, max: 3 }),
    insert: fc.option(fc.constantFrom(...SPLINTERS, ...splinters), { nil: "" }),
  });
  return fc.tuple(whole, fc.array(damage, { minLength: 1, maxLength: 3 })).map(([message, damages]) =>
    damages.reduce((bytes, { at, remove, insert }) => {
      const place = Math.floor((at / 1000) * bytes.length);
      return bytes.slice(0, place) + insert + bytes.slice(place + remove);
    }, message),
  );
}
