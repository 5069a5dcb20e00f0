import type { Refusal } from "../../client/types.ts";
import type { Failure } from "../base/result.ts";
import { toWire } from "../wire/failure.ts";

/** A failure as other Workers get it. */
export function refusalOf(failure: Failure): Refusal {
  return { reason: reasonOf(failure), message: toWire(failure).errors[0] ?? "not found" };
}

function reasonOf(failure: Failure): Refusal["reason"] {
  switch (failure.code) {
    case "unauthenticated":
    case "bad_token":
      return "unauthenticated";
    case "permission_denied":
    case "forbidden":
      return "denied";
    case "sealed":
    case "uninitialized":
    case "unavailable":
    case "rate_limited":
    case "internal":
      return "unavailable";
    default:
      return "invalid";
  }
}
