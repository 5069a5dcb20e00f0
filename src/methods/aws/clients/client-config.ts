import type { Seconds } from "../../../base/clock.ts";
import { outboundProblem, type PrivateHosts } from "../../../base/outbound-hosts.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { DEFAULT_KEY, issuerNameProblem } from "../../../issuer/key-and-role-config.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { duration, flag, integer, list, onlySent, pasted, sent, text } from "../../../wire/fields.ts";
import { view } from "../../../wire/view.ts";
import { parsePrincipalArn } from "../arn.ts";
import { HEADER_NAME } from "../sts/headers.ts";
import { DEFAULT_STS_SETTINGS, parseEndpoint, type StsSettings } from "../sts/origin.ts";

/** How a mount calls the cloud. "" is the cloud's own default. */
export interface ClientConfig extends StsSettings {
  /** Repetitions of a failed call; -1: the default. */
  readonly maxRetries: number;
  readonly accessKey: string;
  readonly sealedSecretKey: string | null;
  readonly endpoint: string;
  readonly iamEndpoint: string;
  readonly webIdentity: WebIdentity | null;
}

/** The role that a mount assumes with an identity token of this service. The mount needs no stored key then. */
export interface WebIdentity {
  readonly roleArn: string;
  readonly audience: string;
  readonly ttl: Seconds;
  readonly key: string;
}

/** The changes of a write. "" resets a setting. */
export type ClientChange = Partial<Omit<ClientConfig, "webIdentity">> & { readonly webIdentity?: Partial<WebIdentity> };

export const DEFAULT_CLIENT: ClientConfig = {
  ...DEFAULT_STS_SETTINGS,
  maxRetries: -1,
  accessKey: "",
  sealedSecretKey: null,
  endpoint: "",
  iamEndpoint: "",
  webIdentity: null,
};

/** The lifetime is that of Vault's workload identity federation. */
const NO_WEB_IDENTITY: WebIdentity = { roleArn: "", audience: "", ttl: 3600, key: DEFAULT_KEY };

/** The purpose for which the secret key is sealed. */
export const SECRET_KEY = "secret_key";

export const CLIENT_FIELDS = fieldSchema({
  access_key: sent(pasted()).describe("The id of the access key"),
  secret_key: sent(pasted()).describe("The secret of the access key; never shown"),
  endpoint: sent(text()).describe("The endpoint of EC2 instead of the cloud's own"),
  iam_endpoint: sent(text()).describe("The endpoint of IAM instead of the cloud's own"),
  sts_endpoint: sent(text()).describe("The endpoint of STS instead of the cloud's own"),
  sts_region: sent(text()).describe("The region of `sts_endpoint`"),
  use_sts_region_from_client: sent(flag(false)).describe(
    "True: signed logins go to STS in the region of their signature",
  ),
  iam_server_id_header_value: sent(text()).describe("Required value of the server ID header of signed logins"),
  allowed_sts_header_values: sent(list()).describe("Further headers that signed logins may have"),
  max_retries: sent(integer()).describe("Repetitions of a failed call; -1: the default"),
  role_arn: sent(text()).describe("The role to assume with identity tokens instead of a stored key"),
  identity_token_audience: sent(text()).describe("The audience of these tokens"),
  identity_token_ttl: sent(duration()).describe("Lifetime of these tokens"),
  identity_token_key: sent(text()).describe("The key that signs these tokens"),
});
type ClientFields = Values<typeof CLIENT_FIELDS>;

const MAX_RETRIES = 100;
const MAX_HEADERS = 64;

/** Text fields with the form of their values, and the message about another form. */
const TEXTS = [
  ["access_key", /^\w{0,128}$/, "is not an access key id"],
  ["secret_key", /^[!-~]{0,256}$/, "is not a secret access key"],
  ["sts_region", /^[a-z0-9-]{0,32}$/, "is not the name of a region"],
  ["iam_server_id_header_value", /^[ -~]{0,1024}$/, "can't be the value of a header"],
  ["identity_token_audience", /^[!-~]{0,256}$/, "is not an audience"],
] as const;

/**
 * Checks a write of the client configuration. Returns the changes without the secret key, which must be sealed first;
 * or a 400. `listed` are private hosts that endpoints may have.
 */
export function readClientChange(fields: ClientFields, listed: PrivateHosts): Result<ClientChange> {
  const problem = fieldProblem(fields) ?? webIdentityProblem(fields) ?? endpointsProblem(fields, listed);
  if (problem) return refuse(problem);
  const webIdentity = onlySent({
    roleArn: fields.role_arn,
    audience: fields.identity_token_audience,
    ttl: fields.identity_token_ttl,
    key: fields.identity_token_key,
  });
  return ok(
    onlySent({
      accessKey: fields.access_key,
      endpoint: fields.endpoint,
      iamEndpoint: fields.iam_endpoint,
      stsEndpoint: fields.sts_endpoint,
      stsRegion: fields.sts_region,
      useStsRegionFromClient: fields.use_sts_region_from_client,
      // The value that a client signs has no white space at its ends.
      iamServerIdHeaderValue: fields.iam_server_id_header_value?.trim(),
      // The usual casing of the name of a header: `x-amz-date` becomes `X-Amz-Date`.
      allowedStsHeaderValues: fields.allowed_sts_header_values?.map((name) =>
        name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()),
      ),
      maxRetries: fields.max_retries,
      webIdentity: Object.keys(webIdentity).length > 0 ? webIdentity : undefined,
    }),
  );
}

function fieldProblem(fields: ClientFields): string | null {
  for (const [name, form, message] of TEXTS) {
    if (!form.test(fields[name] ?? "")) return `${name} ${message}`;
  }
  const headers = fields.allowed_sts_header_values ?? [];
  if (headers.length > MAX_HEADERS) return `allowed_sts_header_values holds at most ${MAX_HEADERS} names`;
  const bad = headers.findIndex((name) => !HEADER_NAME.test(name));
  if (bad >= 0) return `allowed_sts_header_values: item ${bad + 1} is not the name of a header`;
  const retries = fields.max_retries ?? 0;
  return retries < -1 || retries > MAX_RETRIES ? `max_retries must be between -1 and ${MAX_RETRIES}` : null;
}

function webIdentityProblem(fields: ClientFields): string | null {
  const role = fields.role_arn ? parsePrincipalArn(fields.role_arn) : null;
  if (role && !(role.ok && role.value.type === "role")) return "role_arn is not the ARN of a role";
  const ttl = fields.identity_token_ttl;
  const fits = ttl === undefined || (ttl >= 60 && ttl <= 86_400);
  if (!fits) return "identity_token_ttl must be between one minute and one day";
  return fields.identity_token_key === undefined ? null : issuerNameProblem(fields.identity_token_key);
}

function endpointsProblem(fields: ClientFields, listed: PrivateHosts): string | null {
  for (const name of ["endpoint", "iam_endpoint", "sts_endpoint"] as const) {
    const problem = endpointProblem(fields[name] ?? "", listed);
    if (problem) return `${name} ${problem}`;
  }
  return null;
}

/**
 * Why the URL of a service endpoint is refused, as a phrase without the URL, or null. Only https and public hosts are
 * allowed, and the private hosts that are listed. An address must be in its usual spelling, since filters and clients
 * read `0177.0.0.1` and `2130706433` differently.
 */
export function endpointProblem(url: string, listed: PrivateHosts): string | null {
  if (url === "") return null;
  const endpoint = parseEndpoint(url);
  if (!endpoint) return "must be a URL of scheme, host in lower case and perhaps a plain path, without user or query";
  const host = endpoint.authority.replace(/:\d+$/, "");
  if (!URL.canParse(url) || new URL(url).hostname !== host) return "must name its host in the usual spelling";
  const problem = outboundProblem(new URL(url), listed);
  if (problem === "scheme") return "must be an https URL";
  return problem === "host" ? "must not be a private, loopback or link-local address" : null;
}

/** The configuration after a write; a 400 when it has a stored key and a web identity: which applies is unclear. */
export function changeClient(before: ClientConfig | null, change: ClientChange): Result<ClientConfig> {
  const { webIdentity: sent, ...rest } = change;
  const kept = before?.webIdentity ?? null;
  const merged: WebIdentity | null = sent ? { ...(kept ?? NO_WEB_IDENTITY), ...sent } : kept;
  const webIdentity = merged && (merged.roleArn !== "" || merged.audience !== "") ? merged : null;
  const after: ClientConfig = { ...(before ?? DEFAULT_CLIENT), ...rest, webIdentity };
  if (webIdentity) {
    if (webIdentity.audience === "") return refuse("missing required 'identity_token_audience' when 'role_arn' is set");
    if (webIdentity.roleArn === "") return refuse("missing required 'role_arn' when 'identity_token_audience' is set");
    if (after.accessKey !== "" || after.sealedSecretKey !== null) {
      return refuse("only one of 'access_key' or 'identity_token_audience' can be set");
    }
  }
  return ok(after);
}

/** What a read shows: everything but the secret key. */
export const CLIENT_VIEW = view<ClientConfig>({
  access_key: ["string", (client) => client.accessKey],
  endpoint: ["string", (client) => client.endpoint],
  iam_endpoint: ["string", (client) => client.iamEndpoint],
  sts_endpoint: ["string", (client) => client.stsEndpoint],
  sts_region: ["string", (client) => client.stsRegion],
  use_sts_region_from_client: ["boolean", (client) => client.useStsRegionFromClient],
  iam_server_id_header_value: ["string", (client) => client.iamServerIdHeaderValue],
  max_retries: ["integer", (client) => client.maxRetries],
  allowed_sts_header_values: [["string"], (client) => client.allowedStsHeaderValues],
  "role_arn?": ["string", ({ webIdentity }) => webIdentity?.roleArn],
  "identity_token_audience?": ["string", ({ webIdentity }) => webIdentity?.audience],
  "identity_token_ttl?": ["integer", ({ webIdentity }) => webIdentity?.ttl],
  "identity_token_key?": ["string", ({ webIdentity }) => webIdentity?.key],
});

/** The role to assume for the instances and principals of an account. */
export type StsRole = {
  readonly arn: string;
  /** In the role's trust policy; "" for none. No other customer can make the server assume it (confused deputy). */
  readonly externalId: string;
};

/** The fields of a request; undefined when not sent. */
export type StsRoleFields = { readonly [Name in keyof StsRole]: string | undefined };

const ARN = /^[!-~]{1,2048}$/;
const EXTERNAL_ID = /^[\w+=,.@:/-]{2,1224}$/;

/** Checks the fields of a write. Messages are those of the reference's AWS method (config/sts). */
export function readStsRole({ arn, externalId }: StsRoleFields): Result<StsRoleFields> {
  if (arn === "") return refuse("sts role cannot be empty");
  if (arn !== undefined && !ARN.test(arn)) return refuse("sts role is not an ARN");
  if (externalId && !EXTERNAL_ID.test(externalId)) {
    return refuse("external_id is not an external ID: 2 to 1224 letters, digits and any of +=,.@:/-_");
  }
  return ok({ arn, externalId });
}

/** The role after a write; the first write for an account needs the ARN. */
export function changeStsRole(before: StsRole | null, fields: StsRoleFields): Result<StsRole> {
  const arn = fields.arn ?? before?.arn;
  if (arn === undefined) return refuse("missing sts role");
  return ok({ arn, externalId: fields.externalId ?? before?.externalId ?? "" });
}

/** A warning about a role that is stored but can't work. */
export function stsRoleWarnings(accountId: string, arn: string): readonly string[] {
  const role = parsePrincipalArn(arn);
  if (!role.ok || role.value.type !== "role") {
    return ["sts_role is not the ARN of a role; logins of instances in this account will fail"];
  }
  const isOwn = role.value.accountId === accountId;
  return isOwn ? [] : ["sts_role is a role of another account; it can't see the instances of this one"];
}
