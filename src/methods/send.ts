import { readBoundedText } from "../base/bounded-text.ts";
import { LATE, orLate } from "../base/clock.ts";
import type { PrivateHosts } from "../base/private-hosts.ts";
import { outboundProblem } from "../base/public-host.ts";
import { err, type Failure, ok, type Result, unavailable } from "../base/result.ts";

/** A request to a service, complete: nothing is added to it. */
export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

export type SendLimits = {
  /** For the whole answer, body included. */
  readonly timeoutMs: number;
  /** Reading stops beyond it. */
  readonly maxBytes: number;
  /** Hosts that may be called beside public ones; "any" for services of the machine, which the settings name. */
  readonly hosts: PrivateHosts | "any";
};

/** An answer, and the pause in seconds that the service asks for before the next try (null: it doesn't say). */
export interface SentAnswer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
  readonly retryAfterSeconds: number | null;
}

/**
 * Why there is no answer. A too long one, or one that is not UTF-8, will not be another one next time, and a host that may not
 * be called stays one.
 */
export type NoAnswer = "unreachable" | "timeout" | "unreadable" | "not_allowed";

/**
 * Sends one request. A redirect is an answer like any other and is not followed: it would let the server that
 * answers choose the next host.
 */
export async function send(request: OutboundRequest, limits: SendLimits): Promise<Result<SentAnswer, NoAnswer>> {
  const { method, url, headers, body } = request;
  if (limits.hosts !== "any" && outboundProblem(new URL(url), limits.hosts) !== null) return err("not_allowed");
  const abort = new AbortController();
  try {
    const sent = new Request(url, { method, headers, body, redirect: "manual", signal: abort.signal });
    const answer = await orLate(fetchText(sent, limits), limits.timeoutMs);
    if (answer !== LATE) return answer;
    abort.abort();
    return err("timeout");
  } catch {
    return err("unreachable");
  }
}

/**
 * The answer, read to its end or given up: nothing of it is under way afterwards. An answer that refuses or fails says so by its
 * status: its text is "" where it can't be read.
 */
async function fetchText(request: Request, { maxBytes }: SendLimits): Promise<Result<SentAnswer, NoAnswer>> {
  const response = await fetch(request);
  const body = await readBoundedText(response, maxBytes);
  if (!body.ok && response.ok) return err("unreadable");
  const retryAfter = response.headers.get("Retry-After") ?? "";
  return ok({
    status: response.status,
    contentType: response.headers.get("Content-Type"),
    body: body.ok ? body.value : "",
    retryAfterSeconds: /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) : null,
  });
}

/** When a service is overloaded or failing, the time in seconds after which a client may try again. */
const RETRY_AFTER_SECONDS = 5;

/** The failure of a request that depends on a service which does not answer, or not now. */
export function serviceUnavailable(message: string): Failure {
  return unavailable(message, RETRY_AFTER_SECONDS);
}
