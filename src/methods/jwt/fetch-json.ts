import type { PrivateHosts } from "../../base/outbound-hosts.ts";
import { type OutboundRequest, type SentAnswer, send } from "../../base/outbound-http.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { jsonObjectOf } from "../../wire/json.ts";
import { noAnswerText } from "../no-answer.ts";
import { type IssuerProblem, noAnswerAt, problemAt, statusText } from "./issuer-problem.ts";

/** Much larger than the key set of any issuer, or the description of a provider. */
const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;
/** An API server of Kubernetes serves its key set only as its own media type (RFC 7517), and answers 406 otherwise. */
const ACCEPTED = "application/json, application/jwk-set+json";

/** Fetches a JSON object. The problem has no part of the answer. */
export async function fetchJson(
  url: string,
  listed: PrivateHosts,
): Promise<Result<Record<string, unknown>, IssuerProblem>> {
  const request = { method: "GET", url, headers: { Accept: ACCEPTED }, body: null } as const;
  const sent = await send(request, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, hosts: listed });
  if (!sent.ok) return err(noAnswerAt(url, sent.error));
  const read = jsonOf(sent.value);
  if (read.ok) return read;
  const { status } = sent.value;
  return err(problemAt(url, status === 200 ? read.error : statusText(status), read.error));
}

/** Sends a request to an issuer. The error is a phrase. @param maxBytes of the answer. */
export async function askIssuer(
  request: OutboundRequest,
  listed: PrivateHosts,
  maxBytes: number = MAX_BYTES,
): Promise<Result<SentAnswer, string>> {
  const sent = await send(request, { timeoutMs: TIMEOUT_MS, maxBytes, hosts: listed });
  return sent.ok ? sent : err(noAnswerText(sent.error));
}

/** Returns the JSON object of an answer with the status 200. The error is a phrase without any part of the answer. */
export function jsonOf({ status, body }: SentAnswer): Result<Record<string, unknown>, string> {
  if (status !== 200) return err(`it answered ${status}`);
  const value = jsonObjectOf(body);
  return value ? ok(value) : err("its answer is no JSON object");
}
