import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { type CallerIdentity, readCallerIdentity } from "../answers/sts.ts";
import { findRegion, type Partition } from "../regions.ts";
import type { CallerIdentityRequest } from "../sts/signed-request.ts";
import type { ApiCall } from "./call-api.ts";
import type { CloudClient } from "./client.ts";
import { type CallPolicy, callService } from "./retry.ts";
import { serverRegion } from "./server-credentials.ts";

/** A call of STS about a partition. A mount can have an endpoint of its own, and a region to sign for there. */
export function stsCall(
  client: CloudClient,
  partition: Partition,
  form: Readonly<Record<string, string>>,
): Result<ApiCall, Failure> {
  const name = (client.endpoints.sts !== "" && client.stsRegion) || serverRegion(client.env, partition);
  const region = findRegion(name);
  if (region === null) return err(invalid("the configured sts_region is not a region of the cloud"));
  const endpoint = client.endpoints.sts || `https://${region.stsHost}`;
  return ok({ service: "STS", endpoint, region: region.name, form: { ...form, Version: "2011-06-15" } });
}

/** Has STS say who signed a request that was checked. Only STS can: it alone knows the secrets of the signers. */
export async function askCallerIdentity(
  policy: CallPolicy,
  request: CallerIdentityRequest,
): Promise<Result<CallerIdentity, Failure>> {
  const { method, url, headers, body } = request;
  const answer = await callService("STS", policy, async () => ({ method, url, headers, body }));
  return answer.ok ? readCallerIdentity(answer.value, request.partition) : answer;
}
