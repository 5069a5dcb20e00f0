import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { err, ok, type Result } from "../src/base/result.ts";
import { MAX_UPSTREAM_CONNECTIONS, UPSTREAM_IDLE_MS } from "./limits.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket that speaks HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** The service behind the gateway, with a pool of connections to it. */
export class Upstream {
  /** The Host that requests to the service carry. */
  readonly host: string;
  readonly #send: typeof http.request;
  readonly #place: http.RequestOptions;
  readonly #agent: http.Agent;
  readonly #log: (line: string) => void;
  #failing = false;

  constructor(address: UpstreamAddress, log: (line: string) => void) {
    const pool = {
      keepAlive: true,
      maxSockets: MAX_UPSTREAM_CONNECTIONS,
      timeout: UPSTREAM_IDLE_MS,
      scheduling: "lifo",
    } as const;
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

  /**
   * Sends a whole request and waits for the head of the answer; its body is unread. A failed request is never sent again:
   * a use of the token may have been counted.
   *
   * @param headers flat list of names and values, the framing of the body included
   * @param abandonMs after which the answer is not waited for any more
   */
  send(
    method: string,
    target: string,
    headers: readonly string[],
    body: Buffer,
    abandonMs: number,
  ): Promise<Result<IncomingMessage, "unavailable">> {
    const request = this.#send({
      ...this.#place,
      method,
      path: target,
      headers,
      agent: this.#agent,
      setDefaultHeaders: false,
    });
    const abandon = setTimeout(() => request.destroy(), abandonMs);
    return new Promise((resolve) => {
      let answered = false;
      request.on("response", (response) => {
        answered = true;
        // A connection lost during the body is seen by its reader; without a listener it would end the process.
        response.on("error", () => {});
        this.#report(undefined);
        resolve(ok(response));
      });
      request.on("error", (error) => {
        if (!answered) this.#report(error);
        resolve(err("unavailable"));
      });
      request.on("close", () => {
        clearTimeout(abandon);
        resolve(err("unavailable"));
      });
      request.end(body);
    });
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

function describe(error: Error & { readonly code?: string }): string {
  // A failed connection to a name with several addresses has an empty message.
  return error.message === "" ? (error.code ?? error.name) : error.message;
}
