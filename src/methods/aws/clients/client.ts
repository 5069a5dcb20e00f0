import { AwsV4Signer } from "aws4fetch";
import { currentTime, type Ms, sleep } from "../../../base/clock.ts";
import { privateHosts } from "../../../base/outbound-hosts.ts";
import {
  type NoAnswer,
  type OutboundRequest,
  type SendLimits,
  type SentAnswer,
  send,
  serviceUnavailable,
} from "../../../base/outbound-http.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { toHex } from "../../../crypto/bytes.ts";
import type { Env } from "../../../env.ts";
import { countEvent } from "../../../metrics/counters.ts";
import type { Installation } from "../../../system/installation.ts";
import type { Mount } from "../../../system/mount.ts";
import {
  type CloudAnswer,
  type Credentials,
  errorCodeOf,
  isTemporary,
  MAX_ANSWER_BYTES,
  readCallerIdentity,
  type Service,
} from "../answers/read-answers.ts";
import { openCloudSecret } from "../cloud-secrets.ts";
import { findRegion, iamHostOf, type Partition } from "../regions.ts";
import type { CallerIdentityRequest } from "../sts/signed-request.ts";
import { type ClientConfig, SECRET_KEY, type StsRole } from "./client-config.ts";
import { serverRegion } from "./server-credentials.ts";

/** The mount for which the cloud is called. Its configuration decides about the credentials. */
export interface CloudAccess {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
}

export interface CloudClient extends CloudAccess {
  readonly config: ClientConfig;
  /**
   * Hash of the mount and the configuration. It is part of the key of each cached answer, so neither another mount nor
   * a changed configuration uses the answer.
   */
  readonly revision: string;
}

/** A client for one account of the cloud. */
export interface AccountClient extends CloudClient {
  /** 12 digits. */
  readonly accountId: string;
  /** The role to assume for the account; null for the account of the mount's or the server's own credentials. */
  readonly stsRole: StsRole | null;
}

/** The client of a mount with this configuration. */
export async function openClient(access: CloudAccess, config: ClientConfig): Promise<CloudClient> {
  const { env, installation, mount } = access;
  // A secret that is written again is sealed to another text, so this counts as a change too.
  return { env, installation, mount, config, revision: await hashOf(mount.uuid, JSON.stringify(config)) };
}

/** SHA-256 of the parts, in hex. */
export async function hashOf(...parts: readonly (string | null)[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The configured URL of a service without a slash at its end, or the cloud's own host. */
export function serviceUrl(configured: string, host: string): string {
  return configured.replace(/\/$/, "") || `https://${host}`;
}

/** The access key of the configuration; null when none is configured. */
export async function configuredKeys(client: CloudClient): Promise<Result<Credentials | null>> {
  const { accessKey, sealedSecretKey } = client.config;
  if (accessKey === "" && sealedSecretKey === null) return ok(null);
  if (accessKey === "" || sealedSecretKey === null) {
    const half = "the access key or secret key were provided but not both";
    return refuse(`static client credentials haven't been properly configured (${half})`);
  }
  const secretAccessKey = await openCloudSecret(client.installation.keys, client.mount, SECRET_KEY, sealedSecretKey);
  return ok({ accessKeyId: accessKey, secretAccessKey, sessionToken: null });
}

/** Which hosts may be called, and how a call is repeated after a temporary failure. */
export type CallPolicy = Pick<SendLimits, "hosts"> & {
  /** Repetitions after the first try; -1 for `DEFAULT_RETRIES`. */
  readonly maxRetries: number;
  /** Further error codes that count as temporary failures. */
  readonly alsoTemporary?: readonly string[];
};

const DEFAULT_RETRIES = 3;
const TRY_MS = 5_000;
/** Maximum duration of all tries with their pauses. A login waits for it, so `max_retries` can't extend it. */
export const CALL_MS: Ms = 15_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Calls a service, and repeats the call after temporary failures. `request` makes the request of each try: a signature
 * is valid for a few minutes only. Returns the last answer, whatever its status; "unavailable" when there is none.
 */
export async function callService(
  service: Service,
  policy: CallPolicy,
  request: () => Promise<OutboundRequest>,
): Promise<Result<CloudAnswer>> {
  const retries = policy.maxRetries < 0 ? DEFAULT_RETRIES : policy.maxRetries;
  const deadline = currentTime() + CALL_MS;
  for (let attempt = 0; ; attempt++) {
    const timeoutMs = Math.min(TRY_MS, Math.max(1, deadline - currentTime()));
    const sent = await send(await request(), { timeoutMs, maxBytes: MAX_ANSWER_BYTES[service], hosts: policy.hosts });
    const result = sent.ok ? resultOf(sent.value) : sent.error;
    countEvent("cloud_call", [service.toLowerCase(), result]);
    const pause = pauseBeforeNext(sent, attempt, policy, Math.random());
    if (pause === null || attempt >= retries || currentTime() + pause >= deadline) {
      return sent.ok ? sent : err(noAnswer(service, sent.error));
    }
    await sleep(pause);
  }
}

/**
 * The pause before the next try, or null when another try would have the same result. The pause doubles with each
 * earlier try (`attempt`), and half of it is `random` (0 to 1): clients that failed together do not try again together.
 */
export function pauseBeforeNext(
  sent: Result<SentAnswer, NoAnswer>,
  attempt: number,
  policy: Pick<CallPolicy, "alsoTemporary">,
  random: number,
): Ms | null {
  if (!mayChange(sent, policy)) return null;
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
  const asked = (sent.ok ? sent.value.retryAfterSeconds : null) ?? 0;
  return Math.max(Math.ceil(longest * (0.5 + random / 2)), asked * 1000);
}

function mayChange(sent: Result<SentAnswer, NoAnswer>, { alsoTemporary }: Pick<CallPolicy, "alsoTemporary">): boolean {
  if (!sent.ok) return !["unreadable", "not_allowed", "unsendable"].includes(sent.error);
  if (isTemporary(sent.value)) return sent.value.status !== 501;
  return sent.value.status !== 200 && alsoTemporary?.includes(errorCodeOf(sent.value) ?? "") === true;
}

function resultOf(answer: SentAnswer): string {
  if (answer.status === 200) return "success";
  return isTemporary(answer) ? "temporary" : "refused";
}

function noAnswer(service: Service, why: NoAnswer): Failure {
  switch (why) {
    case "unreadable":
      return invalid(`answer of ${service} is too long or no text`);
    case "not_allowed":
      return invalid(`the configured host of ${service} may not be called from here`);
    case "unsendable":
      return invalid(`a header for ${service} has characters that no token and no key has`);
    case "timeout":
      return serviceUnavailable(`${service} does not answer in time`);
    case "lost":
    case "unreachable":
      return serviceUnavailable(`${service} can't be reached`);
  }
}

function policyOf({ env, config }: Pick<CloudClient, "env" | "config">): CallPolicy {
  return { hosts: privateHosts(env), maxRetries: config.maxRetries };
}

/** One operation of a service's query API. */
export type ApiCall = {
  readonly service: Service;
  /** URL without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  /** `Action`, `Version` and the parameters of the operation. */
  readonly form: Readonly<Record<string, string>>;
};

/** Calls an operation, and repeats the call after temporary failures. It is not signed when `credentials` are null. */
export function callApi(
  client: CloudClient,
  call: ApiCall,
  credentials: Credentials | null,
  changes: Partial<CallPolicy> = {},
): Promise<Result<CloudAnswer>> {
  const policy = { ...policyOf(client), ...changes };
  return callService(call.service, policy, () => requestOf(call, credentials, currentTime()));
}

export async function requestOf(call: ApiCall, credentials: Credentials | null, now: Ms): Promise<OutboundRequest> {
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

/** A call of STS in a partition. A mount can have its own STS endpoint and a region for it, which are used instead. */
export function stsCall(client: CloudClient, partition: Partition, form: ApiCall["form"]): Result<ApiCall> {
  const { stsEndpoint, stsRegion } = client.config;
  const region = findRegion((stsEndpoint !== "" && stsRegion) || serverRegion(client.env, partition));
  if (region === null) return refuse("the configured sts_region is not a region of the cloud");
  const endpoint = serviceUrl(stsEndpoint, region.stsHost);
  return ok({ service: "STS", endpoint, region: region.name, form: { ...form, Version: "2011-06-15" } });
}

/** A call of IAM in a partition. */
export function iamCall(client: CloudClient, partition: Partition, form: ApiCall["form"]): ApiCall {
  const { host, signingRegion: region } = iamHostOf(partition);
  const endpoint = serviceUrl(client.config.iamEndpoint, host);
  return { service: "IAM", endpoint, region, form: { ...form, Version: "2010-05-08" } };
}

/** Sends a checked request to STS, which answers who signed it. Only STS knows the secrets of the signers. */
export async function askCallerIdentity(
  client: Pick<CloudClient, "env" | "config">,
  { method, url, headers, body, partition }: CallerIdentityRequest,
) {
  const answer = await callService("STS", policyOf(client), async () => ({ method, url, headers, body }));
  return answer.ok ? readCallerIdentity(answer.value, partition) : answer;
}
