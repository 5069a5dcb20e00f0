import { err, ok, type Result } from "./result.ts";

/** The UTF-8 text of an answer's body. Reading stops, and the connection ends, beyond `maxBytes` and at invalid UTF-8. */
export async function readBoundedText(
  response: Response,
  maxBytes: number,
): Promise<Result<string, "too_long" | "not_utf8">> {
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
