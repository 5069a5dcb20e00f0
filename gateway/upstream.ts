import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { err, ok, type Result } from "../src/base/result.ts";
import { MAX_UPSTREAM_CONNECTIONS, UPSTREAM_IDLE_MS } from "./limits.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket that speaks HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** Why there is no answer: it could not be had, or it was given up by `abort`. */
export type UpstreamFailure = "unavailable" | "aborted";

/** The service behind the gateway, with a pool of connections to it. */
export class Upstream {
  /** The Host that requests to the service carry. */
  readonly host: string;
  readonly #send: typeof http.request;
  readonly #place: http.RequestOptions;
  readonly #agent: http.Agent;
  readonly #log: (line: string) => void;
  readonly #maxRequests: number;
  #requests = 0;
  #failing = false;

  /** @param maxRequests with the service and waiting for it, before it is busy. */
  constructor(address: UpstreamAddress, maxRequests: number, log: (line: string) => void) {
    const pool = {
      keepAlive: true,
      maxSockets: MAX_UPSTREAM_CONNECTIONS,
      timeout: UPSTREAM_IDLE_MS,
      scheduling: "lifo",
    } as const;
    this.#maxRequests = maxRequests;
    this.#log = log;
    if (address.kind === "socket") {
      this.host = "localhost";
      this.#send = http.request;
      this.#place = { socketPath: address.path };
      this.#agent = new http.Agent(pool);
      return;
    }
    const { protocol, hostname, port, host } = address.url;
    const secure = protocol === "https:";
    this.host = host;
    this.#send = secure ? https.request : http.request;
    this.#place = { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? (secure ? 443 : 80) : Number(port) };
    // Said in full so that NODE_TLS_REJECT_UNAUTHORIZED in some environment cannot switch the check off.
    this.#agent = secure ? new https.Agent({ ...pool, rejectUnauthorized: true }) : new http.Agent(pool);
  }

  /** True while no more requests should be opened. */
  get isBusy(): boolean {
    return this.#requests >= this.#maxRequests;
  }

  /**
   * Starts a request. A failed one is never sent again: a use of the token may have been counted.
   *
   * @param headers flat list of names and values, the framing of the body included
   */
  open(method: string, target: string, headers: readonly string[]): UpstreamRequest {
    const request = this.#send({
      ...this.#place,
      method,
      path: target,
      headers,
      agent: this.#agent,
      setDefaultHeaders: false,
    });
    this.#requests++;
    request.once("close", () => this.#requests--);
    return new UpstreamRequest(request, (error) => this.#report(error));
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** One line when the service goes away and one when it is back, not one for each request. */
  #report(error: Error | undefined): void {
    if (error !== undefined && !this.#failing) this.#log(`the service does not answer: ${describe(error)}`);
    if (error === undefined && this.#failing) this.#log("the service answers again");
    this.#failing = error !== undefined;
  }
}

/** One request to the service. */
export class UpstreamRequest {
  /** The answer's head, its body unread. */
  readonly response: Promise<Result<IncomingMessage, UpstreamFailure>>;
  readonly #request: ClientRequest;
  #aborted = false;

  constructor(request: ClientRequest, report: (error: Error | undefined) => void) {
    this.#request = request;
    this.response = new Promise((resolve) => {
      let answered = false;
      request.on("response", (response) => {
        answered = true;
        // A connection lost during the body is seen by its reader; without a listener it would end the process.
        response.on("error", () => {});
        report(undefined);
        resolve(ok(response));
      });
      request.on("error", (error) => {
        if (!answered && !this.#aborted) report(error);
        resolve(err(this.#aborted ? "aborted" : "unavailable"));
      });
      request.on("close", () => resolve(err(this.#aborted ? "aborted" : "unavailable")));
    });
  }

  /** Sends a piece of the body and waits until there is room for more; false when the service takes no more. */
  async write(piece: Buffer): Promise<boolean> {
    if (this.#request.destroyed) return false;
    if (this.#request.write(piece)) return true;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.#request.off("drain", settle);
        this.#request.off("close", settle);
        resolve();
      };
      this.#request.on("drain", settle);
      this.#request.on("close", settle);
    });
    return !this.#request.destroyed;
  }

  /** The body is complete. */
  end(): void {
    this.#request.end();
  }

  /** Gives the request up, its answer included. */
  abort(): void {
    this.#aborted = true;
    this.#request.destroy();
  }
}

function describe(error: Error & { readonly code?: string }): string {
  // A failed connection to a name with several addresses has an empty message.
  return error.message === "" ? (error.code ?? error.name) : error.message;
}
