import { isSuccess, postOnce } from "../../base/outbound-http.ts";
import { toHex } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { endpointSettings, readRevocationEndpoint } from "../../lease/revocation-endpoint.ts";
import type { TeamEnv } from "../env.ts";
import type { SealedWebhook } from "./rules.ts";

const TIMEOUT_MS = 5_000;

/** HMAC-SHA512 of the body in hex, with the webhook's token as the key. As in notifications of HCP Terraform. */
const SIGNATURE_HEADER = "X-TFE-Notification-Signature";

const UTF8 = new TextEncoder();

export interface Attempt {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Reads the URL of a webhook, by the rules for revocation endpoints. */
export function readWebhookUrl(env: TeamEnv, url: string): ReturnType<typeof readRevocationEndpoint> {
  return readRevocationEndpoint(url, { ...endpointSettings(env), services: [] });
}

/** The webhook and the URL that a sealed key is bound to. */
type SignedTarget = Pick<SealedWebhook, "id" | "url">;

/** Seals the key of a webhook's signatures. */
export function sealSecret(keys: Keys, target: SignedTarget, secret: string): Promise<Uint8Array<ArrayBuffer>> {
  return sealText(keys, contextOf(target), secret);
}

/** Seals the sealed key `secret` of a webhook for its new URL. null when it can't be opened. */
export async function moveSecret(
  keys: Keys,
  from: SignedTarget,
  url: string,
  secret: Uint8Array,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const opened = await openText(keys, contextOf(from), secret);
  return opened === null ? null : sealText(keys, contextOf({ id: from.id, url }), opened);
}

/**
 * Posts a document to a webhook once, with a signature if the webhook has a key. Any 2xx answer is a success. `id` is the
 * idempotency key, the same in every attempt.
 */
export async function sendToWebhook(
  env: TeamEnv,
  keys: Keys,
  webhook: SealedWebhook,
  id: string,
  document: unknown,
): Promise<Attempt> {
  // The settings may be stricter than when the webhook was created.
  const url = readWebhookUrl(env, webhook.url);
  if (!url.ok) return failed("the URL is not allowed any more");
  const body = JSON.stringify(document);
  const headers: Record<string, string> = { "Idempotency-Key": id };
  if (webhook.secret) {
    const secret = await openText(keys, contextOf(webhook), webhook.secret);
    if (secret === null) return failed("the token of the webhook does not open");
    headers[SIGNATURE_HEADER] = await signatureOf(secret, body);
  }
  const posted = await postOnce((init) => fetch(url.value, init), headers, body, TIMEOUT_MS);
  if (!posted.ok) return failed(posted.error === "late" ? "no answer in time" : "can't be reached");
  return { delivered: isSuccess(posted.value), status: posted.value, error: null };
}

async function signatureOf(secret: string, body: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-512" };
  const key = await crypto.subtle.importKey("raw", UTF8.encode(secret), algorithm, false, ["sign"]);
  return toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, UTF8.encode(body))));
}

function contextOf({ id, url }: SignedTarget): string {
  return `webhook token ${id} ${url}`;
}

function failed(error: string): Attempt {
  return { delivered: false, status: null, error };
}
