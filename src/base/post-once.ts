import { err, ok, type Result } from "./result.ts";

/**
 * Posts a JSON document once. Redirects are not followed and the answer's body is not read: neither may lead to what was not
 * checked.
 *
 * @param send makes the request.
 * @returns the status of the answer, or why there is none.
 */
export async function postOnce(
  send: (init: RequestInit) => Promise<Response>,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<Result<number, "late" | "unreachable">> {
  // Not AbortSignal.timeout: its timer would outlast the answer and hold the object for as long.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const type = { "Content-Type": "application/json" };
  try {
    const response = await send({
      method: "POST",
      headers: { ...type, ...headers },
      body,
      redirect: "manual",
      signal: timeout.signal,
    });
    await response.body?.cancel();
    return ok(response.status);
  } catch {
    return err(timeout.signal.aborted ? "late" : "unreachable");
  } finally {
    clearTimeout(timer);
  }
}

/** True for a status that reports success. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
