import * as z from "zod";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { flag, integer, text } from "../../../wire/fields.ts";
import { list, onlySent, sent } from "../fields.ts";
import type { SealedText } from "../secrets.ts";
import { DEFAULT_STS_SETTINGS, type StsSettings } from "../sts/settings.ts";
import { endpointProblem } from "./endpoint.ts";

/** How this mount talks to the cloud. "" leaves a text to the cloud's own default. */
export interface ClientConfig extends StsSettings {
  /** Repetitions of a call that failed for a moment; -1 leaves it to the client. */
  readonly maxRetries: number;
  readonly accessKey: string;
  /** null while there is none. */
  readonly sealedSecretKey: SealedText | null;
  readonly endpoint: string;
  readonly iamEndpoint: string;
}

/** What a write changes. */
export type ClientChange = { readonly [K in keyof ClientConfig]?: ClientConfig[K] };

/** What applies to a mount whose client was never configured. */
export const DEFAULT_CLIENT: ClientConfig = {
  ...DEFAULT_STS_SETTINGS,
  maxRetries: -1,
  accessKey: "",
  sealedSecretKey: null,
  endpoint: "",
  iamEndpoint: "",
};

/** The purpose that the secret key is sealed for. */
export const SECRET_KEY = "secret_key";

export const CLIENT_FIELDS = z.object({
  access_key: sent(text()),
  secret_key: sent(text()),
  endpoint: sent(text()),
  iam_endpoint: sent(text()),
  sts_endpoint: sent(text()),
  sts_region: sent(text()),
  use_sts_region_from_client: sent(flag(false)),
  iam_server_id_header_value: sent(text()),
  allowed_sts_header_values: sent(list()),
  max_retries: sent(integer(0)),
});
export type ClientFields = z.infer<typeof CLIENT_FIELDS>;

const MAX_RETRIES = 100;
const MAX_HEADERS = 64;
const ACCESS_KEY = /^\w{0,128}$/;
const SECRET = /^[!-~]{0,256}$/;
const REGION = /^[a-z0-9-]{0,32}$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const HEADER_VALUE = /^[ -~]{0,1024}$/;

/**
 * Checks a write of the client configuration.
 *
 * @param allowPrivate lets endpoints be anywhere.
 * @returns what it changes but the secret key, which has to be sealed first; or a 400.
 */
export function readClientChange(fields: ClientFields, allowPrivate: boolean): Result<ClientChange, Failure> {
  const problem = fieldProblem(fields) ?? endpointsProblem(fields, allowPrivate);
  if (problem) return err(invalid(problem));
  return ok(
    onlySent({
      accessKey: fields.access_key,
      endpoint: fields.endpoint,
      iamEndpoint: fields.iam_endpoint,
      stsEndpoint: fields.sts_endpoint,
      stsRegion: fields.sts_region,
      useStsRegionFromClient: fields.use_sts_region_from_client,
      iamServerIdHeaderValue: fields.iam_server_id_header_value,
      allowedStsHeaderValues: fields.allowed_sts_header_values?.map(canonicalHeaderName),
      maxRetries: fields.max_retries,
    }),
  );
}

/** What a read shows: everything but the secret key. */
export function renderClient(client: ClientConfig): Record<string, unknown> {
  return {
    access_key: client.accessKey,
    endpoint: client.endpoint,
    iam_endpoint: client.iamEndpoint,
    sts_endpoint: client.stsEndpoint,
    sts_region: client.stsRegion,
    use_sts_region_from_client: client.useStsRegionFromClient,
    iam_server_id_header_value: client.iamServerIdHeaderValue,
    max_retries: client.maxRetries,
    allowed_sts_header_values: client.allowedStsHeaderValues,
  };
}

function fieldProblem(fields: ClientFields): string | null {
  if (!ACCESS_KEY.test(fields.access_key ?? "")) return "access_key is not an access key id";
  if (!SECRET.test(fields.secret_key ?? "")) return "secret_key is not a secret access key";
  if (!REGION.test(fields.sts_region ?? "")) return "sts_region is not the name of a region";
  if (!HEADER_VALUE.test(fields.iam_server_id_header_value ?? "")) {
    return "iam_server_id_header_value can't be the value of a header";
  }
  const headers = fields.allowed_sts_header_values ?? [];
  if (headers.length > MAX_HEADERS) return `allowed_sts_header_values holds at most ${MAX_HEADERS} names`;
  const bad = headers.findIndex((name) => !HEADER_NAME.test(name));
  if (bad >= 0) return `allowed_sts_header_values: item ${bad + 1} is not the name of a header`;
  const retries = fields.max_retries ?? 0;
  if (retries < -1 || retries > MAX_RETRIES) return `max_retries must be between -1 and ${MAX_RETRIES}`;
  return null;
}

function endpointsProblem(fields: ClientFields, allowPrivate: boolean): string | null {
  for (const name of ["endpoint", "iam_endpoint", "sts_endpoint"] as const) {
    const problem = endpointProblem(fields[name] ?? "", allowPrivate);
    if (problem) return `${name} ${problem}`;
  }
  return null;
}

/** The usual casing of a header's name: `x-amz-date` is `X-Amz-Date`. */
function canonicalHeaderName(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
