import { type Parameters, policyPathOf, queryOf, TEAMS_BASE } from "./href.ts";
import { type Answer, done, failed, notSent, type Problem, type Refusal } from "./result.ts";
import { hasToken } from "./secret-detection.ts";

/** Longest wait for an answer (ms). The longest calls are pages over many trees. */
const TIMEOUT_MS = 30_000;
/** No cache, cookie or other address has a part in a call. A constant, as the types of the server know no `credentials`. */
const ALONE = { cache: "no-store", credentials: "omit", redirect: "error" } as const;

export type Query = Parameters;

/** The envelope of an answer; what is in `data` depends on the endpoint. */
export interface Envelope<T> {
  readonly data: T;
  readonly auth?: {
    readonly client_token: string;
    readonly accessor: string;
    readonly policies: readonly string[];
  } | null;
  readonly wrap_info?: {
    readonly token: string;
    readonly ttl: number;
    readonly creation_time: string;
    /** The accessor of the wrapped token or secret-id, if the answer has one. */
    readonly wrapped_accessor?: string;
  } | null;
  readonly warnings?: readonly string[] | null;
  /** Pagination of the lists of teams: the number of this page and of all pages. */
  readonly meta?: unknown;
}

export interface CallOptions {
  readonly query?: Query;
  readonly body?: unknown;
  /** Seconds: the answer is wrapped, and its wrapping token is returned. */
  readonly wrapSeconds?: number;
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Content type of the body, where it is not the API's default. */
  readonly contentType?: string;
  /** Aborts the call when the user leaves the page. */
  readonly signal?: AbortSignal;
}

/** Calls the API with one token. */
export class Api {
  readonly #token: string;
  readonly #onRefused: () => void;

  /** @param onRefused called at each 403: the token may have ended */
  constructor(token: string, onRefused: () => void = () => {}) {
    this.#token = token;
    this.#onRefused = onRefused;
  }

  /** Calls the API and returns `data` of the answer. */
  async read<T>(path: string, query: Query = {}): Promise<Answer<T>> {
    const answer = await this.call<T>(path, { query });
    return answer.ok ? done(answer.value.data) : answer;
  }

  /** Sends a body and returns `data` of the answer. */
  async ask<T>(path: string, body: object): Promise<Answer<T>> {
    const answer = await this.call<T>(path, { body });
    return answer.ok ? done(answer.value.data) : answer;
  }

  /** The names of a list. Empty also for a 404, the answer where there can be no list. */
  async list(path: string): Promise<Answer<readonly string[]>> {
    const answer = await this.read<{ readonly keys: readonly string[] }>(path, { list: true });
    if (!answer.ok) return answer.problem.status === 404 ? done([]) : answer;
    return done(answer.value.keys);
  }

  /** @param path below `/v1/`, or an absolute path with a leading slash; its parts are encoded by the caller */
  async call<T>(path: string, options: CallOptions = {}): Promise<Answer<Envelope<T>>> {
    const answer = await this.#send(path, options);
    if (!answer.ok) return answer;
    const body = parse(answer.value);
    if (typeof body !== "object" || body === null) return done({ data: {} as T });
    // Some answers about the service have no envelope.
    return done("data" in body || "auth" in body ? (body as Envelope<T>) : { data: body as T });
  }

  /** Reads an answer that is not JSON. */
  text(path: string, query: Query = {}): Promise<Answer<string>> {
    return this.#send(path, { query });
  }

  async #send(path: string, options: CallOptions): Promise<Answer<string>> {
    const {
      query = {},
      body,
      wrapSeconds,
      method = body === undefined ? "GET" : "POST",
      contentType,
      signal,
    } = options;
    const address = `${path.startsWith("/") ? path : `/v1/${path}`}${queryOf(query)}`;
    if (hasToken(address)) return notSent(NO_TOKEN_IN_ADDRESS);
    const headers: Record<string, string> = this.#token === "" ? {} : { "X-Vault-Token": this.#token };
    // Without this header an empty list is a 404, which the browser would log as an error.
    if (query.list === true) headers.Prefer = "empty-list";
    if (contentType !== undefined) headers["Content-Type"] = contentType;
    if (wrapSeconds !== undefined) headers["X-Vault-Wrap-TTL"] = String(wrapSeconds);
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(address, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...ALONE,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      const answer = await this.#read(response);
      if (answer.ok || this.#token === "" || !mayBeRefusal(answer.problem, path)) return answer;
      return failed({ ...answer.problem, explain: () => this.#explain(path, method, { ...query, ...fieldsOf(body) }) });
    } catch (error) {
      if (signal?.aborted) return failed({ status: 0, messages: [], requestId: "" });
      const late = error instanceof DOMException && error.name === "TimeoutError";
      const message = late ? "The server took too long to answer." : "The server can't be reached.";
      return failed({ status: 0, messages: [message], requestId: "" });
    }
  }

  async #explain(path: string, method: string, fields: Readonly<Record<string, unknown>>): Promise<Refusal | null> {
    const { list, ...parameters } = fields;
    const operation = OPERATIONS[method] ?? "read";
    const asked = {
      path: policyPathOf(path),
      operation: list === true && operation === "read" ? "list" : operation,
      parameters,
    };
    const answer = await this.call<Refusal>("sys/explain/access-self", { body: asked });
    return answer.ok && !answer.value.data.allowed ? answer.value.data : null;
  }

  async #read(response: Response): Promise<Answer<string>> {
    const text = await response.text();
    if (response.ok) return done(text);
    if (response.status === 403 || response.status === 401) this.#onRefused();
    return failed({
      status: response.status,
      messages: messagesOf(parse(text)) ?? [`The server answered with status ${response.status}.`],
      requestId: response.headers.get("X-Request-Id") ?? "",
    });
  }
}

/** Browser histories, proxies and logs keep URLs. */
const NO_TOKEN_IN_ADDRESS =
  "This looks like a token, and it would have been in an address: nothing was sent. The search (Ctrl K) says what it is.";

/** The operation of a method in policies. */
const OPERATIONS: Readonly<Record<string, string>> = { GET: "read", POST: "update", PATCH: "patch", DELETE: "delete" };
/**
 * True for an answer that the token's policies may have caused: the Terraform interface answers their refusal with 404.
 * A refusal to explain is not explained.
 */
function mayBeRefusal({ status }: Problem, path: string): boolean {
  return (status === 403 || (status === 404 && TEAMS_BASE.test(path))) && !path.startsWith("sys/explain/");
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && !Array.isArray(body) ? { ...body } : {};
}

function parse(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return null;
  }
}

function messagesOf(body: unknown): readonly string[] | null {
  if (typeof body !== "object" || body === null || !("errors" in body) || !Array.isArray(body.errors)) return null;
  const messages = body.errors.map(messageOf).filter((message) => message !== "");
  return messages.length > 0 ? messages : null;
}

/** The message of an error, of either interface. */
function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const detail = typeof error === "object" && error !== null && "detail" in error ? error.detail : "";
  return typeof detail === "string" ? detail : "";
}
