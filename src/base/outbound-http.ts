import { LATE, type Ms, orLate, type Seconds } from "./clock.ts";
import { outboundProblem, type PrivateHosts } from "./outbound-hosts.ts";
import { err, type Failure, ok, type Result, unavailable } from "./result.ts";

export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

export type SendLimits = {
  readonly timeoutMs: Ms;
  /** Maximum size of the answer's body; 0: the body is not read. */
  readonly maxBytes: number;
  /** Hosts that may be called besides public ones; "any" for a URL that was checked before. */
  readonly hosts: PrivateHosts | "any";
};

export interface SentAnswer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
  readonly retryAfterSeconds: Seconds | null;
}

/**
 * Why there is no answer. "lost": the host refuses the connection, or closes it; "unreachable": its name does not resolve,
 * or TLS fails. A retry does not help after "unreadable" (too long or not UTF-8), "not_allowed" and
 * "unsendable" (a header with characters that HTTP does not allow).
 */
export type NoAnswer = "lost" | "unreachable" | "timeout" | "unreadable" | "not_allowed" | "unsendable";

/** Printable ASCII with tabs. */
const HEADER = /^[\t\x20-\x7e]*$/;

/** Fetches over the network, or from a service binding. */
export type FetchFrom = (request: Request) => Promise<Response>;

/**
 * Sends one request. A redirect is returned and not followed, because it could lead to a host that was not checked
 * (SSRF).
 */
export async function send(
  request: OutboundRequest,
  limits: SendLimits,
  fetchFrom: FetchFrom = (sent) => fetch(sent),
): Promise<Result<SentAnswer, NoAnswer>> {
  const { method, url, headers, body } = request;
  // The runtime logs a header value that is not ASCII, and these headers contain tokens and keys.
  if (!Object.values(headers).every((value) => HEADER.test(value))) return err("unsendable");
  if (limits.hosts !== "any" && outboundProblem(new URL(url), limits.hosts) !== null) return err("not_allowed");
  // Not AbortSignal.timeout: its timer would outlast the answer and keep an object awake.
  const abort = new AbortController();
  try {
    const sent = new Request(url, { method, headers, body, redirect: "manual", signal: abort.signal });
    const answer = await orLate(answerTo(sent, limits, fetchFrom), limits.timeoutMs);
    if (answer !== LATE) return answer;
    abort.abort();
    return err("timeout");
  } catch (error) {
    return err(isLostConnection(error) ? "lost" : "unreachable");
  }
}

/** True for an error that workerd marks as retryable. */
function isLostConnection(error: unknown): boolean {
  return error instanceof Error && "retryable" in error && error.retryable === true;
}

/** Fetches the answer and reads its body. An unreadable body of an error status is "". */
async function answerTo(
  request: Request,
  { maxBytes }: SendLimits,
  fetchFrom: FetchFrom,
): Promise<Result<SentAnswer, NoAnswer>> {
  const response = await fetchFrom(request);
  const body = maxBytes === 0 ? await withoutBody(response) : await readBoundedText(response, maxBytes);
  if (!body.ok && response.ok) return err("unreadable");
  const retryAfter = response.headers.get("Retry-After") ?? "";
  return ok({
    status: response.status,
    contentType: response.headers.get("Content-Type"),
    body: body.ok ? body.value : "",
    retryAfterSeconds: /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) : null,
  });
}

async function withoutBody(response: Response): Promise<Result<string, never>> {
  await response.body?.cancel();
  return ok("");
}

/** The failure of a request that needs a service that does not answer. The client may retry after 5 s. */
export function serviceUnavailable(message: string): Failure {
  return unavailable(message, 5);
}

/** True for a status that reports success. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Reads the body of a response as UTF-8. Stops, and closes the connection, beyond `maxBytes` and at invalid UTF-8. */
export async function readBoundedText(
  response: Response,
  maxBytes: number,
): Promise<Result<string, "too_long" | "not_utf8">> {
  const announced = response.headers.get("Content-Length");
  // To read an uncompressed body of a known length in one piece costs a third of reading it as a stream.
  if (announced !== null && Number(announced) <= maxBytes && response.headers.get("Content-Encoding") === null) {
    return readWhole(response, maxBytes);
  }
  const reader = response.body?.getReader();
  if (!reader) return ok("");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const stop = async <E>(error: E) => {
    await reader.cancel().catch(() => undefined);
    return err(error);
  };
  let size = 0;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    size += value?.byteLength ?? 0;
    if (size > maxBytes) return stop("too_long" as const);
    try {
      text += decoder.decode(value, { stream: !done });
    } catch {
      return stop("not_utf8" as const);
    }
    if (done) return ok(text);
  }
}

async function readWhole(response: Response, maxBytes: number): Promise<Result<string, "too_long" | "not_utf8">> {
  const bytes = await response.arrayBuffer();
  if (bytes.byteLength > maxBytes) return err("too_long");
  try {
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err("not_utf8");
  }
}
