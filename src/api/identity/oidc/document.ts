import type { Failure } from "../../../base/errors.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { Reply } from "../../../wire/reply.ts";

/** An answer outside the envelope, as OpenID has it. @param maxAge seconds for which caches may keep it; 0: none. */
export function plainDocument(body: Record<string, unknown>, maxAge: number): Result<Reply, Failure> {
  return ok({ kind: "plain", status: 200, body, ...(maxAge > 0 && { maxAge }) });
}
