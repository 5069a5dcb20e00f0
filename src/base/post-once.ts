import { err, ok, type Result } from "./result.ts";

/**
 * Posts a JSON document once. It does not follow redirects, because they could lead to a host that was not checked
 * (SSRF). It does not read the body of the response, which was not checked either.
 *
 * @param send makes the request.
 * @returns the status of the response; "late" after `timeoutMs`, "unreachable" for any other failure.
 */
export async function postOnce(
  send: (init: RequestInit) => Promise<Response>,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
): Promise<Result<number, "late" | "unreachable">> {
  // Not AbortSignal.timeout: its timer would outlast the response and keep the object awake.
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
