import type { Seconds } from "../base/clock.ts";
import type { Grant } from "./merged-rules.ts";

/** True when neither limit is set, or the request asks for response wrapping with a TTL within both. */
export function wrappingPermits(
  grant: Pick<Grant, "minWrappingTtlSeconds" | "maxWrappingTtlSeconds">,
  wrapTtlSeconds: Seconds | undefined,
): boolean {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max } = grant;
  if (min === null && max === null) return true;
  if (wrapTtlSeconds === undefined) return false;
  return (max === null || wrapTtlSeconds <= max) && (min === null || wrapTtlSeconds >= min);
}
