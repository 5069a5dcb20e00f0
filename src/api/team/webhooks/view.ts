import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { Delivery, Webhook } from "../../../team/notices/record.ts";
import type { Shape } from "../../../wire/shape.ts";

/** The type of the resource of a webhook. */
export const WEBHOOK_TYPE = "notification-configurations";

/** The shape of a webhook. */
export const WEBHOOK_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    name: "string",
    url: "string",
    enabled: "boolean",
    token: "string | null",
    triggers: ["string"],
    "destination-type": "string",
    "created-at": "string",
  },
} as const satisfies Shape;
/** The shape of a delivery to a webhook. */
export const DELIVERY_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    trigger: "string",
    state: "string",
    attempts: "integer",
    "sent-at": "string",
    code: "integer | null",
    error: "string | null",
  },
  relationships: { "*": "object" },
} as const satisfies Shape;

/** A webhook as it is shown: its token never is. */
export function webhookResource(webhook: Webhook): Record<string, unknown> {
  return {
    id: webhook.id,
    type: WEBHOOK_TYPE,
    attributes: {
      name: webhook.name,
      url: webhook.url,
      enabled: webhook.enabled,
      token: null,
      triggers: webhook.triggers,
      "destination-type": "generic",
      "created-at": formatRfc3339(webhook.createdAt),
    },
  };
}

/** A delivery as it is shown. */
export function deliveryResource(delivery: Delivery): Record<string, unknown> {
  return {
    id: `${delivery.tokenId}.${delivery.trigger}`,
    type: "notification-deliveries",
    attributes: {
      trigger: delivery.trigger,
      state: delivery.state,
      attempts: delivery.attempts,
      "sent-at": formatRfc3339(delivery.sentAt),
      code: delivery.status,
      error: delivery.error,
    },
    relationships: {
      team: { data: { id: delivery.teamId, type: "teams" } },
      token: { data: { id: delivery.tokenId, type: "authentication-tokens" } },
    },
  };
}
