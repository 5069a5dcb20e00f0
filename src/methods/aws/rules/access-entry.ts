import type { Shape } from "../../../wire/shape.ts";

/** What is remembered of the logins of one instance. Times in ms. */
export interface AccessEntry {
  /** The role of the first login. */
  readonly role: string;
  /** Base64 of the keyed hash of the nonce that the next login must show; null when there can't be a next login. */
  readonly nonceHash: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
  /** From the document of the last login, as written there and in ms. */
  readonly pendingTime: string;
  readonly pendingTimeMs: number;
}

/** The shape of a read. */
export const ENTRY_SHAPE = {
  role: "string",
  client_nonce: "string",
  creation_time: "string",
  disallow_reauthentication: "boolean",
  pending_time: "string",
  expiration_time: "string",
  last_updated_time: "string",
} as const satisfies Shape;

/**
 * What a read shows of an entry. The nonce is kept as a hash only: who may read this list should not be able to log in as
 * every instance on it.
 */
export function renderAccessEntry(entry: AccessEntry): Record<string, unknown> {
  return {
    role: entry.role,
    client_nonce: "",
    creation_time: new Date(entry.createdAt).toISOString(),
    disallow_reauthentication: entry.nonceHash === null,
    pending_time: entry.pendingTime,
    expiration_time: new Date(entry.expiresAt).toISOString(),
    last_updated_time: new Date(entry.updatedAt).toISOString(),
  };
}
