import { termOfSealed } from "../../crypto/sealed-data.ts";
import type { Page, PageRequest } from "../record.ts";
import type { Delivery, SealedWebhook, Webhook } from "./record.ts";

/** Webhooks that an organization can have. */
export const MAX_WEBHOOKS = 20;
/** Deliveries of a webhook that are kept. */
const MAX_DELIVERIES = 1000;

interface WebhookRow extends Record<string, SqlStorageValue> {
  record: string;
  secret: ArrayBuffer | null;
}

/** The webhooks of an organization, and what is known of the deliveries there. */
export class WebhookStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** All webhooks with their keys, the oldest first. */
  all(): SealedWebhook[] {
    return this.#sql.exec<WebhookRow>("SELECT record, secret FROM webhooks ORDER BY row").toArray().map(webhookOf);
  }

  /** Terms of the keys under which the webhooks' own keys are sealed. */
  terms(): number[] {
    return this.all().flatMap(({ secret }) => (secret ? [termOfSealed(secret)] : []));
  }

  /** The webhook with this id. */
  find(id: string): SealedWebhook | null {
    const row = this.#sql.exec<WebhookRow>("SELECT record, secret FROM webhooks WHERE id = ?", id).toArray()[0];
    return row ? webhookOf(row) : null;
  }

  /**
   * Stores a new webhook, of revision 1, or the next revision of one.
   *
   * @returns "full" when no more can be made; "gone" and "changed" when one was deleted or changed since it was read.
   */
  put({ secret, ...webhook }: SealedWebhook): "stored" | "full" | "gone" | "changed" {
    const before = this.find(webhook.id)?.revision ?? 0;
    if (before !== webhook.revision - 1) return before === 0 ? "gone" : "changed";
    if (before === 0 && this.#count() >= MAX_WEBHOOKS) return "full";
    this.#sql.exec(
      `INSERT INTO webhooks (id, record, secret) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record, secret = excluded.secret`,
      webhook.id,
      JSON.stringify(webhook),
      secret,
    );
    return "stored";
  }

  /** Deletes a webhook with its deliveries. False when there is none. */
  remove(id: string): boolean {
    const removed = this.#sql.exec("DELETE FROM webhooks WHERE id = ?", id).rowsWritten > 0;
    this.#sql.exec("DELETE FROM deliveries WHERE webhook_id = ?", id);
    return removed;
  }

  /** Notes how a delivery stands. Those to webhooks that are gone are not kept. */
  note(delivery: Delivery): void {
    const { webhookId, tokenId, trigger } = delivery;
    if (!this.find(webhookId)) return;
    this.#sql.exec(
      `INSERT INTO deliveries (webhook_id, token_id, trigger, record) VALUES (?, ?, ?, ?)
       ON CONFLICT (webhook_id, token_id, trigger) DO UPDATE SET record = excluded.record`,
      webhookId,
      tokenId,
      trigger,
      JSON.stringify(delivery),
    );
    this.#sql.exec(
      `DELETE FROM deliveries WHERE row IN
         (SELECT row FROM deliveries WHERE webhook_id = ? ORDER BY row DESC LIMIT 10 OFFSET ?)`,
      webhookId,
      MAX_DELIVERIES,
    );
  }

  /** A page of the deliveries of a webhook, the newest first. */
  deliveries(webhookId: string, { number, size }: PageRequest): Page<Delivery> {
    const { total } = this.#sql
      .exec<{ total: number }>("SELECT COUNT(*) AS total FROM deliveries WHERE webhook_id = ?", webhookId)
      .one();
    const rows = this.#sql.exec<{ record: string }>(
      "SELECT record FROM deliveries WHERE webhook_id = ? ORDER BY row DESC LIMIT ? OFFSET ?",
      webhookId,
      size,
      Math.min((number - 1) * size, MAX_DELIVERIES),
    );
    return { items: rows.toArray().map(({ record }) => JSON.parse(record) as Delivery), total };
  }

  #count(): number {
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM webhooks").one().n;
  }
}

function webhookOf({ record, secret }: WebhookRow): SealedWebhook {
  // Those of before were stored without a revision.
  const webhook = JSON.parse(record) as Omit<Webhook, "revision"> & Partial<Pick<Webhook, "revision">>;
  return { ...webhook, revision: webhook.revision ?? 1, secret: secret && new Uint8Array(secret) };
}
