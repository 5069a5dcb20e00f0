import { currentTime, type Ms } from "../../base/clock.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { Outbox } from "../../storage/outbox.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { columnOf, type Sql, storedJson } from "../../storage/tables.ts";
import { mustServe } from "../../system/installation.ts";
import type { TeamEnv } from "../env.ts";
import type { TeamRecord, TeamToken } from "../record.ts";
import { organizationNamed } from "../stubs.ts";
import type { TeamStore } from "../team-store.ts";
import {
  MAX_NOTICE_ATTEMPTS,
  NOTICE_PAUSE_MS,
  nextDueAt,
  noticesBetween,
  removableAt,
  type Trigger,
} from "./notice-times.ts";
import { type Delivery, type SealedWebhook, sendToWebhook, WEBHOOK_TIMEOUT_MS } from "./webhooks.ts";

/** Maximum number of tokens that one alarm handles. */
const TOKENS_AT_ONCE = 60;

interface NoticeRow extends Record<string, SqlStorageValue> {
  token_id: string;
  webhook_id: string;
  trigger: string;
  attempts: number;
  /** When the next attempt is due; null for a notice that was tampered with. */
  next_at: Ms | null;
  done: number;
  delivery: string;
  document: string;
}

/** The seal keeps an attacker with access to the storage from getting a document of their own signed. */
const NOTICE: TableShape = {
  table: "notices",
  kind: "team notice",
  key: ["token_id", "webhook_id", "trigger"],
  sealed: ["attempts", "done", "delivery", "document"],
};

/**
 * The outbox of notices about the tokens of a team. When a token is due, one transaction sets its next due time and
 * stores a notice for each webhook. The notice is deleted when the organization has recorded the result.
 */
export class NoticeOutbox {
  readonly #env: TeamEnv;
  readonly #sql: Sql;
  readonly #store: TeamStore;
  readonly #notices: SealedTable<NoticeRow>;

  constructor(env: TeamEnv, sql: Sql, seals: RowSeals, store: TeamStore) {
    this.#env = env;
    this.#sql = sql;
    this.#store = store;
    this.#notices = new SealedTable(sql, seals, NOTICE);
  }

  /** When the next notice is due; null: never. */
  nextAt(): Ms | null {
    return columnOf<number | null>(this.#sql, "SELECT MIN(next_at) FROM notices")[0] ?? null;
  }

  /** Stores and sends the notices that are due. @throws when the organization does not answer. */
  async run(team: TeamRecord): Promise<void> {
    const now = currentTime();
    const hasDue = this.#store.dueTokens(now, 1).length > 0;
    if (!hasDue && (this.nextAt() ?? Number.POSITIVE_INFINITY) > now) return;
    const organization = organizationNamed(this.#env, team.organization);
    const webhooks = await organization.enabledWebhooks(team.organizationId);
    if (hasDue) this.#storeNotices(team, webhooks, now);
    const { keys } = await mustServe(this.#env);
    const outbox = new Outbox<NoticeRow, Delivery | null>({
      pauseMs: NOTICE_PAUSE_MS,
      timeoutMs: WEBHOOK_TIMEOUT_MS,
      due: (at, limit) => this.#due(at, limit),
      claim: (notice, attempts, nextAt) => this.#claim({ ...notice, attempts, next_at: nextAt }),
      send: (notices) => Promise.all(notices.map((notice) => this.#send(notice, webhooks, keys))),
    });
    const sent = (await outbox.sendDue()).filter((delivery) => delivery !== null);
    if (sent.length > 0) await organization.noteDeliveries(team.organizationId, sent);
    // Only these: the organization may not have recorded the results of other finished notices.
    for (const { tokenId, webhookId, trigger, state } of sent) {
      if (state !== "waiting") this.#notices.delete(tokenId, webhookId, trigger);
    }
  }

  #storeNotices(team: TeamRecord, webhooks: readonly SealedWebhook[], now: Ms): void {
    for (const { token, dueAt } of this.#store.dueTokens(now, TOKENS_AT_ONCE)) {
      for (const { trigger, at } of noticesBetween(token, dueAt, now)) {
        for (const { id: webhookId, triggers, since } of webhooks) {
          if (triggers.includes(trigger) && at >= since) this.#add(team, token, trigger, webhookId, now);
        }
      }
      const removable = removableAt(token);
      if (removable !== null && removable <= now)
        this.#store.removeTokens([token.tokenId], this.#store.endOf(token, now));
      else this.#store.setDue(token.tokenId, nextDueAt(token, now));
    }
  }

  #add(team: TeamRecord, token: TeamToken, trigger: Trigger, webhookId: string, now: Ms): void {
    const { tokenId } = token;
    if (this.#notices.find(tokenId, webhookId, trigger)) return;
    const attempt = { state: "waiting", attempts: 0, sentAt: now, status: null, error: null } as const;
    const delivery: Delivery = { webhookId, teamId: team.teamId, tokenId, trigger, ...attempt };
    this.#notices.put({
      token_id: tokenId,
      webhook_id: webhookId,
      trigger,
      attempts: 0,
      next_at: now,
      done: 0,
      delivery: JSON.stringify(delivery),
      document: JSON.stringify(documentOf(team, token, trigger, webhookId)),
    });
  }

  /** Makes an attempt. If the webhook was deleted or disabled, drops the notice and returns null. */
  async #send(notice: NoticeRow, webhooks: readonly SealedWebhook[], keys: Keys): Promise<Delivery | null> {
    const { token_id, webhook_id, trigger, attempts } = notice;
    const before = storedJson<Delivery>(notice.delivery);
    // Finished before: the organization must record the result again.
    if (notice.done) return before;
    const webhook = webhooks.find(({ id }) => id === webhook_id);
    if (!webhook) {
      this.#notices.delete(token_id, webhook_id, trigger);
      return null;
    }
    const sentAt = currentTime();
    const id = `${webhook_id}.${token_id}.${trigger}`;
    const { delivered, ...result } = await sendToWebhook(this.#env, keys, webhook, id, JSON.parse(notice.document));
    const done = delivered || attempts >= MAX_NOTICE_ATTEMPTS;
    const state = delivered ? "delivered" : done ? "failed" : "waiting";
    const delivery: Delivery = { ...before, state, attempts, sentAt, ...result };
    if (done) this.#finish(notice, delivery);
    return delivery;
  }

  /** The notices that are due at `now`. Notices that were tampered with are never due, but stay for tidy. */
  #due(now: Ms, limit: number): NoticeRow[] {
    const { good, tampered } = this.#notices.judged("WHERE next_at <= ? ORDER BY next_at LIMIT ?", now, limit);
    for (const { token_id, webhook_id, trigger } of tampered) {
      const one = "token_id = ? AND webhook_id = ? AND trigger = ?";
      this.#sql.exec(`UPDATE notices SET next_at = NULL WHERE ${one}`, token_id, webhook_id, trigger);
    }
    return good;
  }

  #claim(claimed: NoticeRow): NoticeRow {
    this.#notices.put(claimed);
    return claimed;
  }

  /** Ends the attempts. The notice stays until the organization has recorded the result. */
  #finish(notice: NoticeRow, delivery: Delivery): void {
    // The token may have been deleted with its notices meanwhile.
    if (!this.#notices.find(notice.token_id, notice.webhook_id, notice.trigger)) return;
    this.#notices.put({ ...notice, done: 1, delivery: JSON.stringify(delivery) });
  }
}

/** The body of a notice. It has no secrets. */
function documentOf(team: TeamRecord, token: TeamToken, trigger: Trigger, webhookId: string): Record<string, unknown> {
  return {
    payload_version: 1,
    notification_configuration_id: webhookId,
    organization_name: team.organization,
    team_id: team.teamId,
    team_name: team.name,
    token_id: token.tokenId,
    token_description: token.description,
    token_expired_at: token.expiredAt,
    token_rotated_to: token.rotatedTo ?? null,
    notifications: [{ message: MESSAGES[trigger], trigger }],
  };
}

const MESSAGES: Readonly<Record<Trigger, string>> = {
  "team_token:expires_in_30_days": "A team token ends in 30 days",
  "team_token:expires_in_7_days": "A team token ends in 7 days",
  "team_token:expired": "A team token has ended",
};
