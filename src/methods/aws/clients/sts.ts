import { AwsV4Signer } from "aws4fetch";
import { currentTime } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { OutboundRequest } from "../../send.ts";
import type { CloudAnswer, Service } from "../answers/answer.ts";
import { type CallerIdentity, type Credentials, readCallerIdentity } from "../answers/sts.ts";
import { findRegion, type Partition } from "../regions.ts";
import type { CallerIdentityRequest } from "../sts/signed-request.ts";
import { type CloudClient, endpointOf } from "./client.ts";
import { type CallPolicy, callService } from "./retry.ts";
import { serverRegion } from "./server-credentials.ts";

/** One operation of a service's query API. */
export type ApiCall = {
  readonly service: Service;
  /** URL without a slash at its end. */
  readonly endpoint: string;
  /** Region of the signature. */
  readonly region: string;
  /** `Action`, `Version` and the parameters of the operation. */
  readonly form: Readonly<Record<string, string>>;
};

/** Calls an operation, and repeats the call after temporary failures. It is not signed when `credentials` are null. */
export function callApi(
  policy: CallPolicy,
  call: ApiCall,
  credentials: Credentials | null,
): Promise<Result<CloudAnswer>> {
  return callService(call.service, policy, () => requestOf(call, credentials, currentTime()));
}

/** Makes the request of a call. `now` in ms. */
export async function requestOf(call: ApiCall, credentials: Credentials | null, now: number): Promise<OutboundRequest> {
  const unsigned = {
    method: "POST",
    url: `${call.endpoint}/`,
    headers: { "Content-Type": "application/x-www-form-urlencoded; charset=utf-8" },
    body: new URLSearchParams(call.form).toString(),
  } as const;
  if (!credentials) return unsigned;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const signer = new AwsV4Signer({
    ...unsigned,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== null && { sessionToken }),
    service: call.service.toLowerCase(),
    region: call.region,
    datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
  });
  const { url, headers } = await signer.sign();
  return { ...unsigned, url: url.toString(), headers: Object.fromEntries(headers) };
}

/** A call of STS in a partition, or of the mount's own STS endpoint with the region that is configured for it. */
export function stsCall(
  client: CloudClient,
  partition: Partition,
  form: Readonly<Record<string, string>>,
): Result<ApiCall> {
  const { stsEndpoint, stsRegion } = client.config;
  const region = findRegion((stsEndpoint !== "" && stsRegion) || serverRegion(client.env, partition));
  if (region === null) return refuse("the configured sts_region is not a region of the cloud");
  const endpoint = endpointOf(stsEndpoint, region.stsHost);
  return ok({ service: "STS", endpoint, region: region.name, form: { ...form, Version: "2011-06-15" } });
}

/** Sends a checked request to STS, which answers who signed it. Only STS knows the secrets of the signers. */
export async function askCallerIdentity(
  policy: CallPolicy,
  request: CallerIdentityRequest,
): Promise<Result<CallerIdentity>> {
  const { method, url, headers, body } = request;
  const answer = await callService("STS", policy, async () => ({ method, url, headers, body }));
  return answer.ok ? readCallerIdentity(answer.value, request.partition) : answer;
}
