import { currentTime, parseRfc3339 } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { exactString } from "../../../wire/exact-fields.ts";
import { fieldSchema, readValues } from "../../../wire/fields.ts";
import { jsonObjectOf } from "../../../wire/json.ts";
import { type OutboundRequest, send } from "../../send.ts";
import type { Credentials, TemporaryCredentials } from "../answers/sts.ts";
import type { AwsEnv } from "../env.ts";
import { findRegion, iamHostOf, type Partition } from "../regions.ts";

/** Renewed this long before they end, so that a call under way does not outlive them. */
const EARLY_MS = 5 * 60_000;
/** After the metadata service gave none, the next look is this much later. */
const MISSING_MS = 30_000;

/** Credentials of the metadata services, as this isolate got them last. */
let kept: { readonly credentials: TemporaryCredentials | null; readonly until: number } | null = null;

/**
 * The credentials that the installation itself has, for mounts that configure none: from the settings, else from the
 * metadata service of the container or of the instance that it runs on.
 */
export async function serverCredentials(env: AwsEnv): Promise<Result<Credentials>> {
  const configured = fromSettings(env);
  if (configured) return configured;
  const now = currentTime();
  if (kept === null || kept.until <= now) {
    const credentials = (await containerCredentials(env)) ?? (await instanceCredentials(env));
    kept = { credentials, until: credentials ? credentials.expiresAt - EARLY_MS : now + MISSING_MS };
  }
  if (kept.credentials && kept.credentials.expiresAt > now) return ok(kept.credentials);
  return refuse("no credentials for the cloud's APIs are configured on this mount or for this server");
}

/** Makes the next call ask the metadata services again. True when there was something to forget. */
export function forgetServerCredentials(): boolean {
  const had = kept?.credentials != null;
  kept = null;
  return had;
}

/** Where the server signs for in a partition: its own region when that is part of it, else the partition's first. */
export function serverRegion(env: AwsEnv, partition: Partition): string {
  const region = findRegion(env.CLOUD_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "");
  return region?.partition === partition ? region.name : iamHostOf(partition).signingRegion;
}

/** The partition of the server's own credentials, as far as the settings say it. */
export function serverPartition(env: AwsEnv): Partition {
  return findRegion(env.CLOUD_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "")?.partition ?? "aws";
}

/** null when the settings hold nothing. Half of a pair is a mistake: other credentials must not step in for it. */
function fromSettings(env: AwsEnv): Result<Credentials> | null {
  const sets = [
    [env.CLOUD_ACCESS_KEY, env.CLOUD_SECRET_KEY, env.CLOUD_SESSION_TOKEN],
    [env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN],
  ] as const;
  for (const [accessKeyId, secretAccessKey, sessionToken] of sets) {
    if (accessKeyId && secretAccessKey) return ok({ accessKeyId, secretAccessKey, sessionToken: sessionToken || null });
    if (accessKeyId || secretAccessKey) {
      return refuse("the server's credentials for the cloud's APIs are incomplete: one of the two keys is missing");
    }
  }
  return null;
}

/** The metadata services answer at once or not at all: they are one network hop away. */
const LIMITS = { timeoutMs: 1_000, maxBytes: 16 * 1024, hosts: "any" } as const;

const CONTAINER_HOST = "http://169.254.170.2";
const INSTANCE_HOST = "http://169.254.169.254";
/** Hosts that a container's token is sent to without TLS. */
const CONTAINER_HOSTS: ReadonlySet<string> = new Set(["169.254.170.2", "169.254.170.23", "127.0.0.1", "localhost"]);

const ROLE_NAME = /^[\w+=,.@-]{1,128}$/;

const TEXT = exactString("is missing", (text) => (text === "" ? "is empty" : null));
const DOCUMENT = fieldSchema({ AccessKeyId: TEXT, SecretAccessKey: TEXT, Token: TEXT, Expiration: TEXT });

/** The credentials of the container that this runs in, by the usual settings; null when there are none. */
export async function containerCredentials(env: AwsEnv): Promise<TemporaryCredentials | null> {
  const url = containerUrl(env);
  if (url === null) return null;
  const token = env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  return readCredentials(await ask("GET", url, token ? { Authorization: token } : {}));
}

/**
 * The credentials of the instance that this runs on (version 2 of its metadata service, which needs a token); null when
 * there are none. Only asked where CLOUD_METADATA_CREDENTIALS says that the service can be reached.
 */
export async function instanceCredentials(env: AwsEnv): Promise<TemporaryCredentials | null> {
  if (env.CLOUD_METADATA_CREDENTIALS !== "true") return null;
  const host = (env.AWS_EC2_METADATA_SERVICE_ENDPOINT || INSTANCE_HOST).replace(/\/$/, "");
  const token = await ask("PUT", `${host}/latest/api/token`, { "X-aws-ec2-metadata-token-ttl-seconds": "60" });
  if (token === null) return null;
  const headers = { "X-aws-ec2-metadata-token": token };
  const roles = `${host}/latest/meta-data/iam/security-credentials/`;
  const role = (await ask("GET", roles, headers))?.trim() ?? "";
  return ROLE_NAME.test(role) ? readCredentials(await ask("GET", roles + role, headers)) : null;
}

function containerUrl(env: AwsEnv): string | null {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  if (relative?.startsWith("/")) return CONTAINER_HOST + relative;
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!full || !URL.canParse(full)) return null;
  const { protocol, hostname } = new URL(full);
  const near = protocol === "http:" && CONTAINER_HOSTS.has(hostname);
  return near || protocol === "https:" ? full : null;
}

async function ask(
  method: OutboundRequest["method"],
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | null> {
  const sent = await send({ method, url, headers, body: null }, LIMITS);
  return sent.ok && sent.value.status === 200 ? sent.value.body : null;
}

function readCredentials(text: string | null): TemporaryCredentials | null {
  const json = jsonObjectOf(text ?? "");
  const document = json && readValues(DOCUMENT, json);
  if (!document?.ok) return null;
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = document.value;
  const expiresAt = parseRfc3339(Expiration);
  if (expiresAt === null) return null;
  return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token, expiresAt };
}
