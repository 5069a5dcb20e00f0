import { err, ok, type Result } from "./result.ts";

/**
 * Posts a JSON document once with `send`. It does not follow redirects, because they could lead to a host that was not
 * checked (SSRF). It does not read the body of the response, which was not checked either.
 *
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

/** Reads the body of a response as UTF-8. Stops, and closes the connection, beyond `maxBytes` and at invalid UTF-8. */
export async function readBoundedText(
  response: Response,
  maxBytes: number,
): Promise<Result<string, "too_long" | "not_utf8">> {
  const announced = response.headers.get("Content-Length");
  // Reading an uncompressed body of a known length in one piece costs a third.
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
