/** A token as the inventory answers it (docs/inventory.md). Times are RFC 3339. */
export interface Token {
  readonly accessor: string;
  readonly display_name: string;
  readonly path: string;
  readonly role: string;
  readonly mount: string;
  readonly type: string;
  readonly policies: readonly string[];
  readonly entity_id: string;
  readonly created: string;
  readonly expires: string | null;
  readonly renewed: string | null;
  readonly num_uses: number;
  /** 0 without a limit. */
  readonly uses_left: number;
  readonly period: number;
  readonly explicit_max_ttl: number;
  readonly orphan: boolean;
  readonly parent: string | null;
  readonly children: number;
  readonly last_used: string | null;
  readonly tree: string;
}

/** Which tokens are meant: the filter of the inventory, or accessors. */
export type Selection = Readonly<Record<string, string | boolean | readonly string[]>>;

/** How many there are of something; `more` when counting stopped there. */
export interface Amount {
  readonly count: number;
  readonly more: boolean;
}

/**
 * True when the typed text confirms a bulk revocation: it is the exact number of the tokens. Never when there are none, or
 * too many to count: a number that is not known can't be confirmed.
 */
export function isConfirmed({ count, more }: Amount, typed: string): boolean {
  return count > 0 && !more && typed === String(count);
}

export const nameOf = (token: Token): string => token.display_name || "token";

/** `1,204`, or `10,000+` when counting stopped there. */
export const amountText = ({ count, more }: Amount): string => `${count.toLocaleString("en")}${more ? "+" : ""}`;
