import { currentTime, type Ms, parseRfc3339 } from "../../../base/clock.ts";
import { send } from "../../../base/outbound-http.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, readValues } from "../../../wire/field-schema.ts";
import { jsonObjectOf } from "../../../wire/json.ts";
import { exactString } from "../../../wire/json-type-fields.ts";
import type { Credentials, TemporaryCredentials } from "../answers/read-answers.ts";
import type { AwsEnv } from "../env.ts";
import { findRegion, iamHostOf, type Partition } from "../regions.ts";

/** Credentials are renewed this long before they end, so that they do not end during a call. */
const EARLY_MS = 5 * 60_000;
/** Pause before the metadata services are asked again after they gave no credentials. */
const MISSING_MS = 30_000;

/** What is sent in a header: the signer would refuse, or log, anything else as a whole. */
const SENDABLE = /^[\x21-\x7e]*$/;

/** The last answer of the metadata services in this isolate. */
let kept: { readonly credentials: TemporaryCredentials | null; readonly until: Ms } | null = null;

/** The credentials of this server: from the settings, else from the metadata service of the container or instance. */
export async function serverCredentials(env: AwsEnv): Promise<Result<Credentials>> {
  const sets = [
    [env.CLOUD_ACCESS_KEY, env.CLOUD_SECRET_KEY, env.CLOUD_SESSION_TOKEN],
    [env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN],
  ] as const;
  for (const [accessKeyId, secretAccessKey, sessionToken] of sets) {
    if (![accessKeyId, sessionToken].every((text = "") => SENDABLE.test(text))) {
      return refuse("the server's credentials for the cloud's APIs have characters that no key has (a line break?)");
    }
    if (accessKeyId && secretAccessKey) return ok({ accessKeyId, secretAccessKey, sessionToken: sessionToken || null });
    // Half of a pair is a mistake, which other credentials must not hide.
    if (accessKeyId || secretAccessKey) {
      return refuse("the server's credentials for the cloud's APIs are incomplete: one of the two keys is missing");
    }
  }
  const now = currentTime();
  if (kept === null || kept.until <= now) {
    const credentials = (await containerCredentials(env)) ?? (await instanceCredentials(env));
    kept = { credentials, until: credentials ? credentials.expiresAt - EARLY_MS : now + MISSING_MS };
  }
  if (kept.credentials && kept.credentials.expiresAt > now) return ok(kept.credentials);
  return refuse("no credentials for the cloud's APIs are configured on this mount or for this server");
}

/** Makes the next call ask the metadata services again. False when no credentials were cached. */
export function forgetServerCredentials(): boolean {
  const had = kept?.credentials != null;
  kept = null;
  return had;
}

/** The region that the server signs for in a partition: its own region if it is there, else the partition's first. */
export function serverRegion(env: AwsEnv, partition: Partition): string {
  const region = configuredRegion(env);
  return region?.partition === partition ? region.name : iamHostOf(partition).signingRegion;
}

/** The partition of the server's region; that of the public cloud when none is configured. */
export function serverPartition(env: AwsEnv): Partition {
  return configuredRegion(env)?.partition ?? "aws";
}

function configuredRegion(env: AwsEnv) {
  return findRegion(env.CLOUD_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "");
}

/** The metadata services are one network hop away: they answer at once or not at all. */
const LIMITS = { timeoutMs: 1_000, maxBytes: 16 * 1024, hosts: "any" } as const;

/** Hosts that may receive the container's token without TLS. */
const CONTAINER_HOSTS: ReadonlySet<string> = new Set(["169.254.170.2", "169.254.170.23", "127.0.0.1", "localhost"]);

const ROLE_NAME = /^[\w+=,.@-]{1,128}$/;

const TEXT = exactString("is missing", (text) => (text === "" ? "is empty" : null));
const DOCUMENT = fieldSchema({ AccessKeyId: TEXT, SecretAccessKey: TEXT, Token: TEXT, Expiration: TEXT });

/** The credentials of the container, from the URL in the platform's settings; null when there are none. */
export async function containerCredentials(env: AwsEnv): Promise<TemporaryCredentials | null> {
  const url = containerUrl(env);
  const token = env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  return url === null ? null : readCredentials(await ask("GET", url, token ? { Authorization: token } : {}));
}

function containerUrl(env: AwsEnv): string | null {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  if (relative?.startsWith("/")) return `http://169.254.170.2${relative}`;
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!full || !URL.canParse(full)) return null;
  const { protocol, hostname } = new URL(full);
  const isNear = protocol === "http:" && CONTAINER_HOSTS.has(hostname);
  return isNear || protocol === "https:" ? full : null;
}

/**
 * The credentials of the instance from version 2 of its metadata service, which needs a token; null when there are
 * none. Without CLOUD_METADATA_CREDENTIALS the service is not asked.
 */
export async function instanceCredentials(env: AwsEnv): Promise<TemporaryCredentials | null> {
  if (env.CLOUD_METADATA_CREDENTIALS !== "true") return null;
  const host = (env.AWS_EC2_METADATA_SERVICE_ENDPOINT || "http://169.254.169.254").replace(/\/$/, "");
  const token = await ask("PUT", `${host}/latest/api/token`, { "X-aws-ec2-metadata-token-ttl-seconds": "60" });
  if (token === null) return null;
  const headers = { "X-aws-ec2-metadata-token": token };
  const roles = `${host}/latest/meta-data/iam/security-credentials/`;
  const role = (await ask("GET", roles, headers))?.trim() ?? "";
  return ROLE_NAME.test(role) ? readCredentials(await ask("GET", roles + role, headers)) : null;
}

/** The body of the answer; null without one of status 200. */
async function ask(method: "GET" | "PUT", url: string, headers: Record<string, string>): Promise<string | null> {
  const sent = await send({ method, url, headers, body: null }, LIMITS);
  return sent.ok && sent.value.status === 200 ? sent.value.body : null;
}

function readCredentials(text: string | null): TemporaryCredentials | null {
  const json = jsonObjectOf(text ?? "");
  const document = json && readValues(DOCUMENT, json);
  if (!document?.ok) return null;
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken } = document.value;
  const expiresAt = parseRfc3339(document.value.Expiration);
  return expiresAt === null ? null : { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}
