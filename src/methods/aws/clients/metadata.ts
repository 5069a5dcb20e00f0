import { parseRfc3339 } from "../../../base/rfc3339.ts";
import { exactString } from "../../../wire/exact-fields.ts";
import { fieldSchema, isObject, readValues } from "../../../wire/fields.ts";
import type { TemporaryCredentials } from "../answers/sts.ts";
import type { AwsEnv } from "../env.ts";
import { type OutboundRequest, send } from "./send.ts";

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
  const json = parseJson(text);
  const document = isObject(json) ? readValues(DOCUMENT, json) : null;
  if (!document?.ok) return null;
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = document.value;
  const expiresAt = parseRfc3339(Expiration);
  if (expiresAt === null) return null;
  return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token, expiresAt };
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return null;
  }
}
