import { err, ok, type Result } from "../../base/result.ts";

const TIMEOUT_MS = 5_000;
/** Far more than the keys of any issuer. */
const MAX_BYTES = 262_144;

/**
 * Fetches a JSON object. A redirect is not followed: it would let whoever answers choose the next host.
 *
 * @returns why there is none, as a phrase without anything of the answer.
 */
export async function fetchJson(url: string): Promise<Result<Record<string, unknown>, string>> {
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
    const text = await readText(response);
    if (text === null) return err("its answer is too long");
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? ok({ ...value }) : err("its answer is no JSON object");
  } catch (error) {
    return err(error instanceof SyntaxError ? "its answer is no JSON object" : "it does not answer");
  }
}

/** The body as text; null when it is longer than allowed. */
async function readText(response: Response): Promise<string | null> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    size += value?.byteLength ?? 0;
    if (size > MAX_BYTES) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: !done });
    if (done) return text;
  }
}
