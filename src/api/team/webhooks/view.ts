import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { Delivery, Webhook } from "../../../team/notices/record.ts";
import { inner, view } from "../../../wire/view.ts";
import { reference } from "../render.ts";

/** The type of the resource of a webhook. */
export const WEBHOOK_TYPE = "notification-configurations";

/** A webhook as it is shown: its token never is. */
export const WEBHOOK_VIEW = view<Webhook>({
  id: ["string", (webhook) => webhook.id],
  type: ["string", () => WEBHOOK_TYPE],
  attributes: inner({
    name: ["string", (webhook) => webhook.name],
    url: ["string", (webhook) => webhook.url],
    enabled: ["boolean", (webhook) => webhook.enabled],
    token: ["string | null", () => null],
    triggers: [["string"], (webhook) => webhook.triggers],
    "destination-type": ["string", () => "generic"],
    "created-at": ["string", (webhook) => formatRfc3339(webhook.createdAt)],
  }),
});

/** A delivery to a webhook. */
export const DELIVERY_VIEW = view<Delivery>({
  id: ["string", (delivery) => `${delivery.tokenId}.${delivery.trigger}`],
  type: ["string", () => "notification-deliveries"],
  attributes: inner({
    trigger: ["string", (delivery) => delivery.trigger],
    state: ["string", (delivery) => delivery.state],
    attempts: ["integer", (delivery) => delivery.attempts],
    "sent-at": ["string", (delivery) => formatRfc3339(delivery.sentAt)],
    code: ["integer | null", (delivery) => delivery.status],
    error: ["string | null", (delivery) => delivery.error],
  }),
  relationships: inner({
    team: reference((delivery) => ({ id: delivery.teamId, type: "teams" })),
    token: reference((delivery) => ({ id: delivery.tokenId, type: "authentication-tokens" })),
  }),
});
