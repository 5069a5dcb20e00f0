import type { Problem } from "../result.ts";

/** What to do after an answer of a login on another device that has no token yet. */
export function afterAnswer({ status, messages }: Problem): "again" | "slower" | "away" | "end" {
  if (messages.includes("authorization_pending")) return "again";
  if (messages.includes("slow_down")) return "slower";
  return status === 0 || status === 429 || status >= 500 ? "away" : "end";
}
