import { type Ms, orLate } from "../base/clock.ts";
import { MAX_RESTORED_BYTES } from "../base/limits.ts";
import type { Middleware } from "./context.ts";

/** How long a refusal waits for the rest of a body. A gateway sends it at once. */
const MAX_WAIT_MS: Ms = 2_000;

/**
 * Reads and drops the body of a request that was answered without it. The runtime closes a connection whose body was not
 * read. A gateway that is still sending then gets no answer, and takes the service for one that has ended: a client
 * could cause that by a refused request.
 */
export const unreadBody: Middleware = async (c, next) => {
  await next();
  const { raw } = c.req;
  // In this order: the first access to a body makes an object of the runtime.
  if (!raw.bodyUsed && raw.body !== null) await orLate(drop(raw.body.getReader()), MAX_WAIT_MS);
};

/** Reads no more than the largest body that the gateway sends. */
async function drop(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done && size <= MAX_RESTORED_BYTES; piece = await reader.read()) {
      size += piece.value.byteLength;
    }
  } catch {
    // The client disconnected: nothing will receive the answer.
  }
}
