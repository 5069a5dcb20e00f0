import { AwsV4Signer } from "aws4fetch";
import { currentTime } from "../../../base/clock.ts";
import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import type { CloudAnswer, Service } from "../answers/answer.ts";
import type { Credentials } from "../answers/sts.ts";
import { type CallPolicy, callService } from "./retry.ts";
import type { OutboundRequest } from "./send.ts";

/** One operation of a service's query API. */
export type ApiCall = {
  readonly service: Service;
  /** Scheme, host and perhaps a path, without a slash at the end. */
  readonly endpoint: string;
  /** The region to sign for. */
  readonly region: string;
  /** `Action`, `Version` and what the operation takes. */
  readonly form: Readonly<Record<string, string>>;
};

/** Calls an operation, signed unless `credentials` are null, and repeats it while that may help. */
export function callApi(
  policy: CallPolicy,
  call: ApiCall,
  credentials: Credentials | null,
): Promise<Result<CloudAnswer, Failure>> {
  return callService(call.service, policy, () => requestOf(call, credentials, currentTime()));
}

/** The request of a call. `now` in ms. */
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
