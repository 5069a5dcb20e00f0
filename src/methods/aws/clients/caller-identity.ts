import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import { type CallerIdentity, readCallerIdentity } from "../answers/sts.ts";
import type { CallerIdentityRequest } from "../sts/signed-request.ts";
import { type CallPolicy, callService } from "./retry.ts";

/** Has STS say who signed a request that was checked. Only STS can: it alone knows the secrets of the signers. */
export async function askCallerIdentity(
  policy: CallPolicy,
  request: CallerIdentityRequest,
): Promise<Result<CallerIdentity, Failure>> {
  const { method, url, headers, body } = request;
  const answer = await callService("STS", policy, async () => ({ method, url, headers, body }));
  return answer.ok ? readCallerIdentity(answer.value, request.partition) : answer;
}
