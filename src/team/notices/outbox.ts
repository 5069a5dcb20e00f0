import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { retryDelayMs } from "../../lease/rules.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { columnOf, type Sql, storedJson } from "../../storage/tables.ts";
import { loadInstallation } from "../../system/installation.ts";
import type { TeamEnv } from "../env.ts";
import { organizationNamed } from "../find.ts";
import type { TeamRecord, TeamToken } from "../record.ts";
import type { TeamStore } from "../team-store.ts";
import {
  type Delivery,
  MAX_ATTEMPTS,
  nextDueAt,
  noticesBetween,
  RETRY_BASE_MS,
  removableAt,
  type SealedWebhook,
} from "./rules.ts";
import { sendToWebhook } from "./send.ts";

/** Tokens and notices that one alarm looks at. */
const AT_ONCE = 60;

/** A notice that waits to be sent, with the document that is sent. */
interface NoticeRow extends Record<string, SqlStorageValue> {
  token_id: string;
  webhook_id: string;
  trigger: string;
  attempts: number;
  /** ms; null: never, as it was tampered with. */
  next_at: number | null;
  done: number;
  delivery: string;
  document: string;
}

/** Without a seal, who writes the storage could have a document of their own signed for a webhook. */
const NOTICE: TableShape = {
  table: "notices",
  kind: "team notice",
  key: ["token_id", "webhook_id", "trigger"],
  sealed: ["attempts", "done", "delivery", "document"],
};

/**
 * The notices about the tokens of a team, an outbox. The transaction that moves a token on to its next due time also
 * stores one notice for each webhook. A notice is sent at least once; each attempt is counted before it is made. It is
 * deleted when the organization has recorded the result.
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

  /** When there is something to send (ms); null: never. */
  nextAt(): number | null {
    return columnOf<number | null>(this.#sql, "SELECT MIN(next_at) FROM notices")[0] ?? null;
  }

  /** Stores the notices that are due and sends those that wait. Throws when the organization does not answer. */
  async run(team: TeamRecord): Promise<void> {
    const now = currentTime();
    const hasDue = this.#store.dueTokens(now, 1).length > 0;
    if (!hasDue && (this.nextAt() ?? Number.POSITIVE_INFINITY) > now) return;
    const organization = organizationNamed(this.#env, team.organization);
    const webhooks = await organization.enabledWebhooks(team.organizationId);
    if (hasDue) this.#takeSteps(team, webhooks, now);
    const sent = await this.#send(webhooks, currentTime());
    if (sent.length > 0) await organization.noteDeliveries(team.organizationId, sent);
    // Not all that are done: the organization may not have answered about others yet.
    for (const { tokenId, webhookId, trigger, state } of sent) {
      if (state !== "waiting") this.#notices.delete(tokenId, webhookId, trigger);
    }
  }

  /** Stores the notices of all tokens that are due, and moves each token on to what is due next. */
  #takeSteps(team: TeamRecord, webhooks: readonly SealedWebhook[], now: number): void {
    for (const { token, dueAt } of this.#store.dueTokens(now, AT_ONCE)) {
      for (const { trigger, at } of noticesBetween(token, dueAt, now)) {
        for (const webhook of webhooks) {
          if (!webhook.triggers.includes(trigger) || at < webhook.since) continue;
          const delivery: Delivery = {
            webhookId: webhook.id,
            teamId: team.teamId,
            tokenId: token.tokenId,
            trigger,
            state: "waiting",
            attempts: 0,
            sentAt: now,
            status: null,
            error: null,
          };
          if (this.#notices.find(token.tokenId, webhook.id, trigger)) continue;
          this.#notices.put({
            token_id: token.tokenId,
            webhook_id: webhook.id,
            trigger,
            attempts: 0,
            next_at: now,
            done: 0,
            delivery: JSON.stringify(delivery),
            document: JSON.stringify(documentOf(team, token, trigger, webhook.id)),
          });
        }
      }
      const removable = removableAt(token);
      if (removable !== null && removable <= now) this.#store.removeTokens([token.tokenId]);
      else this.#store.setDue(token.tokenId, nextDueAt(token, now));
    }
  }

  /** Sends what is due. Returns how each delivery stands after it. */
  async #send(webhooks: readonly SealedWebhook[], now: number): Promise<Delivery[]> {
    const installation = await loadInstallation(this.#env);
    if (!installation.ok) throw new Error("notices can't be signed while the service is sealed");
    const { keys } = installation.value;
    const claimed = this.#due(now).map((notice) => this.#claim(notice, now));
    const deliveries: Delivery[] = [];
    await inGroups(claimed, async (notice) => {
      const webhook = webhooks.find(({ id }) => id === notice.webhook_id);
      const before = storedJson<Delivery>(notice.delivery);
      if (notice.done || !webhook) {
        // Either the organization has not recorded the result yet, or the webhook was disabled and wants no more
        // notices.
        if (!notice.done) this.#notices.delete(notice.token_id, notice.webhook_id, notice.trigger);
        else deliveries.push(before);
        return;
      }
      const id = `${notice.webhook_id}.${notice.token_id}.${notice.trigger}`;
      const attempt = await sendToWebhook(this.#env, keys, webhook, id, JSON.parse(notice.document));
      const { attempts } = notice;
      const done = attempt.delivered || attempts >= MAX_ATTEMPTS;
      const state = attempt.delivered ? "delivered" : done ? "failed" : "waiting";
      const delivery: Delivery = {
        ...before,
        state,
        attempts,
        sentAt: now,
        status: attempt.status,
        error: attempt.error,
      };
      if (done) this.#finish(notice, delivery);
      deliveries.push(delivery);
    });
    return deliveries;
  }

  /** What is to be sent at `now` (ms). Notices that were tampered with are put aside for tidy to find. */
  #due(now: number): NoticeRow[] {
    const { good, tampered } = this.#notices.judged("WHERE next_at <= ? ORDER BY next_at LIMIT ?", now, AT_ONCE);
    for (const { token_id, webhook_id, trigger } of tampered) {
      const one = "token_id = ? AND webhook_id = ? AND trigger = ?";
      this.#sql.exec(`UPDATE notices SET next_at = NULL WHERE ${one}`, token_id, webhook_id, trigger);
    }
    return good;
  }

  /** Counts an attempt before it is made; the next is due after a pause. */
  #claim(notice: NoticeRow, now: number): NoticeRow {
    const attempts = notice.attempts + 1;
    const claimed = { ...notice, attempts, next_at: now + retryDelayMs(attempts, Math.random(), RETRY_BASE_MS) };
    this.#notices.put(claimed);
    return claimed;
  }

  /** No further attempt; the organization still has to record the result. */
  #finish(notice: NoticeRow, delivery: Delivery): void {
    // The token, and its notices, may have been deleted meanwhile.
    if (!this.#notices.find(notice.token_id, notice.webhook_id, notice.trigger)) return;
    this.#notices.put({ ...notice, done: 1, delivery: JSON.stringify(delivery) });
  }
}

/** The body of a notice to a webhook. Nothing in it is secret. */
function documentOf(team: TeamRecord, token: TeamToken, trigger: string, webhookId: string): Record<string, unknown> {
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
    notifications: [{ message: MESSAGES[trigger] ?? trigger, trigger }],
  };
}

const MESSAGES: Readonly<Record<string, string>> = {
  "team_token:expires_in_30_days": "A team token ends in 30 days",
  "team_token:expires_in_7_days": "A team token ends in 7 days",
  "team_token:expired": "A team token has ended",
};
