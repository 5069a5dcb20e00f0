import { isSuccess, postOnce } from "../../base/post-once.ts";
import { toHex } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { endpointSettings, readRevocationEndpoint } from "../../lease/revocation-endpoint.ts";
import type { TeamEnv } from "../env.ts";
import type { SealedWebhook } from "./rules.ts";

/** How long a webhook may take. */
const TIMEOUT_MS = 5_000;

/** Carries the hex of HMAC-SHA512 over the body, keyed with the webhook's token: as notifications of HCP Terraform do. */
const SIGNATURE_HEADER = "X-TFE-Notification-Signature";

const UTF8 = new TextEncoder();

/** What came of one attempt. */
export interface Attempt {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** The canonical URL of a webhook, or why it is refused. The rules are those of revocation endpoints. */
export function readWebhookUrl(env: TeamEnv, url: string): ReturnType<typeof readRevocationEndpoint> {
  return readRevocationEndpoint(url, { ...endpointSettings(env), services: [] });
}

/** A webhook as far as the key of its signatures is bound to it: to no other webhook, and to no other URL. */
type SignedTarget = Pick<SealedWebhook, "id" | "url">;

/** Seals the key of a webhook's signatures. */
export function sealSecret(keys: Keys, target: SignedTarget, secret: string): Promise<Uint8Array<ArrayBuffer>> {
  return sealText(keys, contextOf(target), secret);
}

/** The sealed key `secret` of a webhook, sealed for another URL of it. null when it does not open. */
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
 * Posts a document to a webhook, signed when it has a key, once. Any 2xx answer is a success.
 *
 * @param id of what is sent: the same again in every attempt.
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

/** HMAC-SHA512 of `body` in hex. */
async function signatureOf(secret: string, body: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", UTF8.encode(secret), { name: "HMAC", hash: "SHA-512" }, false, [
    "sign",
  ]);
  return toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, UTF8.encode(body))));
}

function contextOf({ id, url }: SignedTarget): string {
  return `webhook token ${id} ${url}`;
}

function failed(error: string): Attempt {
  return { delivered: false, status: null, error };
}
