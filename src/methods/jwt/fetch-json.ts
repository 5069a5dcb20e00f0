import { readBoundedText } from "../../base/bounded-text.ts";
import type { PrivateHosts } from "../../base/private-hosts.ts";
import { outboundProblem } from "../../base/public-host.ts";
import { err, ok, type Result } from "../../base/result.ts";

const TIMEOUT_MS = 5_000;
/** Far more than the keys of any issuer. */
const MAX_BYTES = 262_144;

/**
 * Fetches a JSON object. A redirect is not followed: it would let the server that answers choose the next host.
 *
 * @param listed hosts that may be called beside public ones.
 * @returns why there is none, as a phrase without anything of the answer.
 */
export async function fetchJson(url: string, listed: PrivateHosts): Promise<Result<Record<string, unknown>, string>> {
  if (outboundProblem(new URL(url), listed) !== null) return err("its host may not be called from here");
  try {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return err(`it answered ${response.status}`);
    }
    const text = await readBoundedText(response, MAX_BYTES);
    if (!text.ok) return err(text.error === "too_long" ? "its answer is too long" : "its answer is no JSON object");
    const value: unknown = JSON.parse(text.value);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? ok({ ...value }) : err("its answer is no JSON object");
  } catch (error) {
    return err(error instanceof SyntaxError ? "its answer is no JSON object" : "it does not answer");
  }
}
