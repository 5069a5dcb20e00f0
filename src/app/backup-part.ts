import { MAX_RESTORED_BYTES } from "../base/limits.ts";
import type { AppContext } from "./context.ts";

/** True for the upload of a part of a backup, which may be larger than other bodies. */
export function isBackupPart(c: AppContext): boolean {
  const { path } = c.get("head");
  return path.ok && path.value === "sys/restore/part";
}

/**
 * Reads and drops the body of a refused part of a backup. The runtime closes a connection whose body was not read. A
 * gateway that is still sending then may not receive the refusal and answers 502. Other bodies are too short for that.
 */
export async function dropRefusedPart(c: AppContext): Promise<void> {
  const { body, bodyUsed } = c.req.raw;
  if (!isBackupPart(c) || body === null || bodyUsed) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done && size <= MAX_RESTORED_BYTES; piece = await reader.read()) {
      size += piece.value.byteLength;
    }
  } catch {
    // The client disconnected: nothing will receive the refusal.
  }
}
