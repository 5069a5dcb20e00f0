import { MAX_RESTORED_BYTES } from "../../base/limits.ts";
import type { AppContext } from "../context.ts";

/** True when the request brings a part of a backup. */
export function isBackupPart(c: AppContext): boolean {
  const { path } = c.get("head");
  return path.ok && path.value === "sys/restore/part";
}

/**
 * Reads the body of a refused part of a backup to its end, and drops it. The runtime closes a connection whose body was not read; a
 * gateway that is still writing then may not receive the refusal, and answers 502. Every other body is so short that it does.
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
    // The client has gone: there is no one to receive the refusal.
  }
}
