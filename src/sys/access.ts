import { DENIED, type Failure } from "../errors.ts";
import type { AccessRequest, Verdict } from "../policy/acl.ts";
import { authorize as judge } from "../policy/authorize.ts";
import { err, ok, type Result } from "../result.ts";
import type { Installation } from "./installation.ts";

/**
 * Lets the policies of a caller decide about a request.
 *
 * @param now ms.
 * @returns what is granted on the path, or "permission_denied".
 */
export function authorize(
  installation: Installation,
  caller: { readonly policies: readonly string[] },
  request: AccessRequest,
  now: number,
): Result<Verdict, Failure> {
  const verdict = judge(installation.aclFor(caller.policies, { now }), request, now);
  return verdict.allowed ? ok(verdict) : err(DENIED);
}
