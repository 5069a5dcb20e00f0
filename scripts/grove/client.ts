import { setTimeout as sleep } from "node:timers/promises";
import type * as z from "zod";
import { err, ok, type Result } from "../../src/base/result.ts";
import { asCalled } from "../local/command-line.ts";
import { isSendable } from "../local/token-from-environment.ts";
import { isLasting, tlsThere, wantsTls, whyNoAnswer } from "./connection-error.ts";
import { hasToken } from "./secret-detection.ts";

const TIMEOUT_MS = 60_000;
/** Most tries of a call that the server asks to repeat. */
const MAX_TRIES = 5;
/** Most tries where no answer is to be expected and none came before: a server that restarts answered before. */
const MAX_DEAD_TRIES = 2;
const MAX_WAIT_SECONDS = 30;
/** The reason for a wait of this length or longer is shown to the user. */
const NOTICE_SECONDS = 3;
/** Statuses of a proxy in front of the server, or of a busy server. */
const TEMPORARY: ReadonlySet<number> = new Set([502, 503, 504]);

/** How calls are sent and repeated. */
interface CallOptions {
  /** Most tries of a call, the first one included. */
  readonly tries?: number;
  /** True when every call may be sent twice: a call without an answer, or with a temporary status, is then repeated too. */
  readonly repeats?: boolean;
  /** How long an answer may take (ms). */
  readonly timeout?: number;
  /** ms. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Gets a line about each longer wait; by default written to stderr. */
  readonly say?: (line: string) => void;
  /** How requests get to the server; by default over the network to its address. */
  readonly send?: Send;
}

/** A request to the service, with its token. */
interface SentRequest {
  readonly method: string;
  /** The whole path, which begins with `/v1/` or `/api/v2/`. */
  readonly path: string;
  readonly token: string;
  readonly body: unknown;
}

/** Sends a request, and returns its answer. @throws when none came. */
export type Send = (request: SentRequest) => Promise<{
  readonly status: number;
  readonly retryAfter: string | null;
  readonly fault?: string | null;
  readonly text: string;
}>;

/** Why a call has no answer, for the operator. */
export interface CallFailure {
  /** null: no answer came. */
  readonly status: number | null;
  readonly message: string;
  /** What only the operator of the server can mend, as the server names it. */
  readonly fault?: string | undefined;
  /** No answer came, and none is to be expected soon: nothing listens at the address. */
  readonly isLasting?: boolean;
}

/** The result of a call. */
export type Called<T> = Result<T, CallFailure>;

/** A failure without an answer of the server. */
export function failed(message: string): Result<never, CallFailure> {
  return err({ status: null, message });
}

/** Replaces a 404, whose answer has no message, by a failure with the text `what`. */
export function orMissing<T>(called: Called<T>, what: string): Called<T> {
  return !called.ok && called.error.status === 404 ? failed(what) : called;
}

/** A successful answer. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A server of Grove, with a token for it. */
export class GroveClient {
  readonly #address: string;
  readonly #token: string;
  readonly #options: Required<CallOptions>;
  #hasAnswered = false;

  /** @param address origin, as in VAULT_ADDR. */
  constructor(address: string, token: string, options: CallOptions = {}) {
    this.#address = address.replace(/\/+$/, "");
    this.#token = token;
    const { timeout = TIMEOUT_MS } = options;
    const send = overNetwork(this.#address, timeout);
    this.#options = { repeats: false, tries: MAX_TRIES, timeout, wait: sleep, say: toStderr, send, ...options };
  }

  /** The same server, asked with another token. */
  as(token: string): GroveClient {
    return new GroveClient(this.#address, token, this.#options);
  }

  /** True without a token, as where VAULT_TOKEN is not set. */
  get isAnonymous(): boolean {
    return this.#token === "";
  }

  get url(): URL {
    return new URL(this.#address);
  }

  /**
   * The `data` of an answer in the envelope.
   *
   * @param query values of "" and undefined are left out; each item of a list is a parameter.
   */
  async get<T>(
    path: string,
    shape: z.ZodType<T>,
    query: Readonly<Record<string, string | readonly string[] | undefined>> = {},
  ): Promise<Result<T, CallFailure>> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      [value ?? []].flat().flatMap((one) => (one ? [[name, one]] : [])),
    );
    const asked = given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
    return readData(await this.call("GET", asked), shape);
  }

  /** The `data` of the answer to a write. */
  async post<T>(path: string, shape: z.ZodType<T>, body: unknown): Promise<Result<T, CallFailure>> {
    return readData(await this.call("POST", path, body), shape);
  }

  /**
   * Calls the service. Waits and tries again when the server asks for that.
   *
   * @param path below `/v1/`; the whole path when it begins with a slash.
   */
  async call(
    method: "GET" | "LIST" | "POST" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<Result<Answer, CallFailure>> {
    // Proxies and logs keep URLs.
    if (hasToken(path))
      return failed(`this looks like a token, which no address may carry: ${asCalled("find")} reads it`);
    for (let tried = 1; ; tried++) {
      const answered = await this.#once(method, path, body);
      const pause = this.#pauseAfter(answered, tried);
      if (pause !== null && tried < this.#options.tries) {
        const seconds = Math.min(pause, MAX_WAIT_SECONDS);
        if (seconds >= NOTICE_SECONDS) this.#options.say(`waiting ${seconds} s: ${failureOf(answered)}`);
        await this.#options.wait(seconds * 1000);
        continue;
      }
      if (!answered.ok) return answered;
      const { status, retryAfter, fault, ...answer } = answered.value;
      // The service answers only with JSON. For a status from 500 on, a proxy in front of it may answer with a page.
      if (typeof answer.body === "string" && status < 500)
        return failed(`no answer from ${this.#address}: ${otherServer(answer.body, this.#address, status)}`);
      if (status < 400) return ok({ status, ...answer });
      return err({ status, message: messageOf(answer.body, status), ...(fault !== null && { fault }) });
    }
  }

  /** Seconds until the call is sent again; null: it is not. */
  #pauseAfter(
    answered: Result<{ status: number; retryAfter: number | null; fault: string | null }, CallFailure>,
    tried: number,
  ): number | null {
    const backOff = this.#options.repeats ? 2 ** (tried - 1) : null;
    if (!answered.ok) {
      const isDead = answered.error.isLasting === true && !this.#hasAnswered;
      return isDead && tried >= MAX_DEAD_TRIES ? null : backOff;
    }
    const { status, retryAfter, fault } = answered.value;
    if (status < 400) return null;
    // Only the operator makes space.
    if (fault === "disk_full") return null;
    // The server says that nothing changes soon, as with a damaged database.
    if (status === 503 && retryAfter !== null && retryAfter > MAX_WAIT_SECONDS) return null;
    return retryAfter ?? (TEMPORARY.has(status) ? backOff : null);
  }

  async #once(
    method: string,
    path: string,
    body: unknown,
  ): Promise<Result<Answer & { readonly retryAfter: number | null; readonly fault: string | null }, CallFailure>> {
    // Checked here because a token may also come from an answer or a setting.
    if (!isSendable(this.#token)) return failed("the token has characters that no token has: nothing was sent");
    try {
      const whole = path.startsWith("/") ? path : `/v1/${path}`;
      const answer = await this.#options.send({ method, path: whole, token: this.#token, body });
      this.#hasAnswered = true;
      const { status, text, retryAfter, fault = null } = answer;
      return ok({ status, body: parse(text), retryAfter: secondsOf(retryAfter), fault });
    } catch (error) {
      const why = await whyNoAnswer(error, this.#address);
      return err({ status: null, message: `no answer from ${this.#address}: ${why}`, isLasting: isLasting(error) });
    }
  }
}

function otherServer(body: string, address: string, status: number): string {
  if (wantsTls(body)) return tlsThere(address);
  const what = /^\s*<(?:!doctype|html|head|body|h1)/i.test(body) ? "a web page" : "a text that is not of Grove";
  return `${what} came, with status ${status}`;
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

function failureOf(answered: Result<Answer, CallFailure>): string {
  return answered.ok ? messageOf(answered.value.body, answered.value.status) : answered.error.message;
}

/** @param timeout ms. */
function overNetwork(address: string, timeout: number): Send {
  return async ({ method, path, token, body }) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { ...(token !== "" && { "X-Vault-Token": token }), "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeout),
      // The token must not reach another server.
      redirect: "error",
    });
    const { status, headers } = response;
    return {
      status,
      retryAfter: headers.get("Retry-After"),
      fault: headers.get("X-Grove-Fault"),
      text: await response.text(),
    };
  };
}

function readData<T>(answered: Result<Answer, CallFailure>, shape: z.ZodType<T>): Result<T, CallFailure> {
  if (!answered.ok) return answered;
  const { status, body } = answered.value;
  const data = typeof body === "object" && body !== null && "data" in body ? body.data : null;
  const read = shape.safeParse(data);
  if (read.success) return ok(read.data);
  const where = read.error.issues[0]?.path.join(".") ?? "";
  return where === "" || data === null
    ? err({ status, message: "no answer of Grove came, but something else (no data)" })
    : err({ status, message: `the server answered something else than expected (${where})` });
}

function parse(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null;
}

function messageOf(body: unknown, status: number): string {
  const errors = typeof body === "object" && body !== null && "errors" in body ? body.errors : null;
  const first = Array.isArray(errors) ? errors[0] : undefined;
  // The API of teams answers with JSON:API, whose errors are objects.
  const said = typeof first === "object" && first !== null && "detail" in first ? first.detail : first;
  if (typeof said === "string") return said;
  return status < 500 ? `status ${status}` : `status ${status}, without a word of Grove, as of a proxy in front of it`;
}
