import type { Trigger } from "./rules.ts";

/** A webhook: where an organization receives notices about the ends of tokens. Times in ms. */
export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly triggers: readonly Trigger[];
  readonly createdAt: number;
  /** 1 when it is made; every change makes it greater. */
  readonly revision: number;
  /** Notices about earlier moments are not sent to it: it did not exist then, or was disabled. */
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
