import { LATE, orLate } from "../base/clock.ts";
import { outboundProblem, type PrivateHosts } from "../base/outbound-hosts.ts";
import { readBoundedText } from "../base/outbound-http.ts";
import { err, type Failure, ok, type Result, unavailable } from "../base/result.ts";

export type OutboundRequest = {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

export type SendLimits = {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Hosts that may be called besides public ones; "any" for local services in the settings. */
  readonly hosts: PrivateHosts | "any";
};

export interface SentAnswer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
  readonly retryAfterSeconds: number | null;
}

/** Why there is no answer. A retry does not help after "unreadable" (too long or not UTF-8) and "not_allowed". */
export type NoAnswer = "unreachable" | "timeout" | "unreadable" | "not_allowed";

/** Sends one request. A redirect is returned and not followed: the server could choose the next host. */
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

/** Fetches the answer and reads it completely. An unreadable body of an error status is "". */
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

/** Returns the failure of a request that needs a service that does not answer. The client may retry after 5 s. */
export function serviceUnavailable(message: string): Failure {
  return unavailable(message, 5);
}
