import type { Page, PageRequest } from "../../storage/pages.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { blobsOf, SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { columnOf, type Sql, storedJson } from "../../storage/tables.ts";
import type { Delivery, SealedWebhook, Webhook } from "./rules.ts";

/** Maximum number of webhooks of an organization. */
export const MAX_WEBHOOKS = 20;
const MAX_DELIVERIES = 1000;

type WebhookRow = { id: string; record: string; secret: ArrayBuffer | null };

/** The seal prevents that somebody with access to the storage gets signed notices sent to a URL of their own. */
const WEBHOOK: TableShape = {
  table: "webhooks",
  kind: "webhook",
  key: ["id"],
  sealed: ["record", "secret"],
  values: ({ secret }) => blobsOf([secret]),
};

/**
 * The webhooks of an organization, and the deliveries to them. A webhook that was tampered with counts as absent. Deliveries
 * are only shown and have no seal.
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
    const insert = `INSERT INTO deliveries (webhook_id, token_id, trigger, record) VALUES (?, ?, ?, ?)
      ON CONFLICT (webhook_id, token_id, trigger) DO UPDATE SET record = excluded.record`;
    this.#sql.exec(insert, webhookId, tokenId, trigger, JSON.stringify(delivery));
    const old = "SELECT row FROM deliveries WHERE webhook_id = ? ORDER BY row DESC LIMIT 10 OFFSET ?";
    this.#sql.exec(`DELETE FROM deliveries WHERE row IN (${old})`, webhookId, MAX_DELIVERIES);
  }

  deliveries(webhookId: string, { number, size }: PageRequest): Page<Delivery> {
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
