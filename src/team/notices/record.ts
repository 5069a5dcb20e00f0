import type { Trigger } from "./rules.ts";

/** Where an organization is told of tokens that end. Times in ms. */
export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly triggers: readonly Trigger[];
  readonly createdAt: number;
  /** Notices about moments before it are not sent there: it was not there, or off. */
  readonly since: number;
}

/** A webhook with the key of its signatures, sealed; null without one. */
export interface SealedWebhook extends Webhook {
  readonly secret: Uint8Array | null;
}

/** What is known of the delivery of a notice. Times in ms. */
export interface Delivery {
  readonly webhookId: string;
  readonly teamId: string;
  readonly tokenId: string;
  readonly trigger: Trigger;
  readonly state: "waiting" | "delivered" | "failed";
  readonly attempts: number;
  readonly sentAt: number;
  /** What the last attempt came to: the status of the answer, or null with an error. */
  readonly status: number | null;
  readonly error: string | null;
}
