import type { Ms } from "../../base/clock.ts";
import { isSuccess, send } from "../../base/outbound-http.ts";
import { err, invalidDocument, ok, type Result } from "../../base/result.ts";
import { toHex } from "../../crypto/bytes.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText, sealText } from "../../crypto/sealed-data.ts";
import { endpointSettings, readRevocationEndpoint } from "../../lease/revocation-endpoint.ts";
import type { PageRequest, RowPage } from "../../storage/pages.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { blobsOf, SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { columnOf, type Sql, storedJson, upsert } from "../../storage/tables.ts";
import type { TeamEnv } from "../env.ts";
import type { Trigger } from "./notice-times.ts";

/** A webhook: the URL that receives notices about the expiry of team tokens. */
export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly triggers: readonly Trigger[];
  readonly createdAt: Ms;
  /** Starts with 1 and grows with every change. */
  readonly revision: number;
  /** When it was last enabled. It gets no notices about earlier events. */
  readonly since: Ms;
}

/** A webhook with the sealed key of its signatures; null without signatures. */
export interface SealedWebhook extends Webhook {
  readonly secret: Uint8Array | null;
}

export interface Delivery {
  readonly webhookId: string;
  readonly teamId: string;
  readonly tokenId: string;
  readonly trigger: Trigger;
  readonly state: "waiting" | "delivered" | "failed";
  readonly attempts: number;
  readonly sentAt: Ms;
  /** Status of the answer to the last attempt; null with an error. */
  readonly status: number | null;
  readonly error: string | null;
}

/** Maximum number of webhooks of an organization. */
export const MAX_WEBHOOKS = 20;
const MAX_DELIVERIES = 1000;

type WebhookRow = { id: string; record: string; secret: ArrayBuffer | null };

/** The seal keeps an attacker with access to the storage from getting signed notices sent to a URL of their own. */
const WEBHOOK: TableShape = {
  table: "webhooks",
  kind: "webhook",
  key: ["id"],
  sealed: ["record", "secret"],
  values: ({ secret }) => blobsOf([secret]),
};

/**
 * The webhooks of an organization, and the deliveries to them. A webhook that was tampered with counts as absent.
 * Deliveries are only shown and have no seal.
 */
export class WebhookStore {
  readonly #sql: Sql;
  readonly #webhooks: SealedTable<WebhookRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#webhooks = new SealedTable(sql, seals, WEBHOOK);
  }

  all(): SealedWebhook[] {
    return this.#webhooks.list("ORDER BY row").map(webhookOf);
  }

  find(id: string): SealedWebhook | null {
    const row = this.#webhooks.find(id);
    return row && webhookOf(row);
  }

  /**
   * Stores a new webhook (revision 1), or the next revision of a webhook. "full" when there are too many; "gone" or
   * "changed" when another request deleted or changed the webhook.
   */
  put({ secret, ...webhook }: SealedWebhook): "stored" | "full" | "gone" | "changed" {
    const before = this.find(webhook.id)?.revision ?? 0;
    if (before !== webhook.revision - 1) return before === 0 ? "gone" : "changed";
    if (before === 0 && this.#webhooks.count() >= MAX_WEBHOOKS) return "full";
    this.#webhooks.put({ id: webhook.id, record: JSON.stringify(webhook), secret: secret?.slice().buffer ?? null });
    return "stored";
  }

  remove(id: string): boolean {
    const removed = this.#sql.exec("DELETE FROM webhooks WHERE id = ?", id).rowsWritten > 0;
    this.#sql.exec("DELETE FROM deliveries WHERE webhook_id = ?", id);
    return removed;
  }

  /** Stores the state of a delivery, unless the webhook was deleted. */
  note(delivery: Delivery): void {
    const { webhookId, tokenId, trigger } = delivery;
    if (!this.find(webhookId)) return;
    const row = { webhook_id: webhookId, token_id: tokenId, trigger, record: JSON.stringify(delivery) };
    upsert(this.#sql, "deliveries", ["webhook_id", "token_id", "trigger"], row);
    const old = "SELECT row FROM deliveries WHERE webhook_id = ? ORDER BY row DESC LIMIT 10 OFFSET ?";
    this.#sql.exec(`DELETE FROM deliveries WHERE row IN (${old})`, webhookId, MAX_DELIVERIES);
  }

  deliveries(webhookId: string, { number, size }: PageRequest): RowPage<Delivery> {
    const [total = 0] = columnOf<number>(this.#sql, "SELECT COUNT(*) FROM deliveries WHERE webhook_id = ?", webhookId);
    const query = "SELECT record FROM deliveries WHERE webhook_id = ? ORDER BY row DESC LIMIT ? OFFSET ?";
    const offset = Math.min((number - 1) * size, MAX_DELIVERIES);
    const records = columnOf<string>(this.#sql, query, webhookId, size, offset);
    return { items: records.map((record) => storedJson<Delivery>(record)), total };
  }
}

function webhookOf({ record, secret }: WebhookRow): SealedWebhook {
  return { ...storedJson<Webhook>(record), secret: secret && new Uint8Array(secret) };
}

/** Time limit for the answer of a webhook. */
export const WEBHOOK_TIMEOUT_MS: Ms = 5_000;

/** HMAC-SHA512 of the body in hex, with the webhook's token as the key. As in notifications of HCP Terraform. */
const SIGNATURE_HEADER = "X-TFE-Notification-Signature";

const UTF8 = new TextEncoder();

type Attempt = Pick<Delivery, "status" | "error"> & { readonly delivered: boolean };

/** Reads the URL of a webhook, by the rules for revocation endpoints. */
export function readWebhookUrl(env: TeamEnv, url: string): ReturnType<typeof readRevocationEndpoint> {
  return readRevocationEndpoint(url, { ...endpointSettings(env), services: [] });
}

/** Seals the key of a webhook's signatures for a new URL. `token`: undefined keeps the previous key, null removes it. */
export async function secretFor(
  keys: Keys,
  before: SealedWebhook,
  url: string,
  token: string | null | undefined,
): Promise<Result<Uint8Array | null>> {
  const seal = async (text: string) => ok(await sealText(keys, contextOf({ id: before.id, url }), text));
  if (token === null) return ok(null);
  if (token !== undefined) return seal(token);
  if (before.secret === null || url === before.url) return ok(before.secret);
  const opened = await openText(keys, contextOf(before), before.secret);
  return opened === null ? err(DOES_NOT_OPEN) : seal(opened);
}

const DOES_NOT_OPEN = invalidDocument("the token does not open any more: send it again", "/data/attributes/token");

/**
 * Posts a document to a webhook once, with a signature if the webhook has a key. Any 2xx answer is a success. `id` is
 * the idempotency key, the same in every attempt.
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
  const headers: Record<string, string> = { "Content-Type": "application/json", "Idempotency-Key": id };
  if (webhook.secret) {
    const secret = await openText(keys, contextOf(webhook), webhook.secret);
    if (secret === null) return failed("the token of the webhook does not open");
    headers[SIGNATURE_HEADER] = await signatureOf(secret, body);
  }
  const limits = { timeoutMs: WEBHOOK_TIMEOUT_MS, maxBytes: 0, hosts: "any" } as const;
  const sent = await send({ method: "POST", url: url.value, headers, body }, limits);
  if (!sent.ok) return failed(sent.error === "timeout" ? "no answer in time" : "can't be reached");
  const { status } = sent.value;
  return { delivered: isSuccess(status), status, error: null };
}

async function signatureOf(secret: string, body: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-512" };
  const key = await crypto.subtle.importKey("raw", UTF8.encode(secret), algorithm, false, ["sign"]);
  return toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, UTF8.encode(body))));
}

/** A sealed key is bound to its webhook and to the URL. */
function contextOf({ id, url }: Pick<SealedWebhook, "id" | "url">): string {
  return `webhook token ${id} ${url}`;
}

function failed(error: string): Attempt {
  return { delivered: false, status: null, error };
}
