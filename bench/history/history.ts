/**
 * A request and its answer, with times of one clock (ms). `end` is null for a request without an answer, or whose
 * answer says nothing about its effect (5xx): it may take effect at any time from `begin` on.
 */
interface Asked {
  readonly begin: number;
  readonly end: number | null;
}

/** The creation of a token, or a login. Only answered requests are recorded: without an answer the token is unknown. */
export interface Creation extends Asked {
  readonly kind: "create";
  /** A name for the token. Its text is a secret and is not recorded. */
  readonly token: string;
  /** The token whose end also ends this one; null for an orphan. */
  readonly parent: string | null;
  /** The groups that a watermark can end: the token's role, mount or entity. */
  readonly groups: readonly string[];
  /** Maximum number of uses; null: unlimited. */
  readonly uses: number | null;
  /** When the token expires on its own (ms of the same clock); null: not during the history. */
  readonly expiresAt: number | null;
  /** True for a token that also ends when its parent is revoked alone. */
  readonly batch: boolean;
  /** The nonce of a login; null for other creations. */
  readonly nonce: string | null;
}

/** A request with a token. `accepted` is false for a refusal because the token is not alive; null without an answer. */
export interface Use extends Asked {
  readonly kind: "use";
  readonly token: string;
  readonly accepted: boolean | null;
}

/** The revocation of a token with its descendants, or alone, which makes its children orphans. */
export interface Revocation extends Asked {
  readonly kind: "revoke";
  readonly token: string;
  readonly alone: boolean;
}

/** A watermark: ends every token of a group that was issued before it. */
export interface Watermark extends Asked {
  readonly kind: "watermark";
  readonly group: string;
}

/** A complete receipt of a bulk revocation of a group: the tokens that it ended. */
export interface Receipt extends Asked {
  readonly kind: "receipt";
  readonly group: string;
  readonly ended: readonly string[];
  /** Tokens whose creation was answered before this time were listed when the revocation began, so it ends them. */
  readonly listedUpTo: number;
}

export type HistoryEvent = Creation | Use | Revocation | Watermark | Receipt;

/** The end of an answered request; Infinity for a request that may take effect at any later time. */
export function latestEffect({ end }: Asked): number {
  return end ?? Number.POSITIVE_INFINITY;
}
