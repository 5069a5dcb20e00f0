import { failureOfPlatform } from "../base/platform-errors.ts";
import type { Failure } from "../base/result.ts";

/**
 * The failure that a caller gets for a thrown error, which also goes to the error log: a bug, or the platform saying that an object
 * is overloaded or gone for a moment, or that its disk is full. The first is a 500 without details, the others are a 503
 * that clients repeat.
 *
 * @param requestId "" when no request was read.
 */
export function failureOfException(error: unknown, requestId: string): Failure {
  logException(requestId, error);
  return failureOfPlatform(error) ?? { code: "internal" };
}

/** The type, the beginning of the message, and the stack. Our own messages hold no values; the ends of others might. */
function logException(requestId: string, error: unknown): void {
  const places = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
  const text = error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : "not an Error";
  console.error(JSON.stringify({ type: "exception", request_id: requestId, error: [text, ...places].join("\n") }));
}
