import { count, counted } from "../format.ts";

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
  readonly metadata: Readonly<Record<string, string>>;
}

/** Most accessors in one request. */
export const MOST_NAMED = 900;

/** Selected tokens: by a filter of the inventory, or by accessors. */
export type Selection = Readonly<Record<string, string | boolean | readonly string[]>>;

/** Why a selection is too large for one revocation; "" when it is not. */
export function refusalOf({ accessors }: Selection): string {
  if (!Array.isArray(accessors) || accessors.length <= MOST_NAMED) return "";
  return `${count(MOST_NAMED)} tokens can be revoked at once by selecting them: select fewer, or filter for what they have in common`;
}

/** A count; `more` when counting stopped there. */
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

/** `8 children`: those right below a token. "" for none. */
export const childrenText = (children: number): string => (children > 0 ? counted(children, "child", "children") : "");

/** `56 descendants`: all below a token. "" for none. */
export const descendantsText = ({ count, more }: Amount): string =>
  count > 0 ? `${amountText({ count, more })} ${count === 1 && !more ? "descendant" : "descendants"}` : "";

/** Numbers of tokens by group (docs/inventory.md). */
export interface Summary {
  readonly groups: readonly { readonly key: string; readonly count: number; readonly trees?: number }[];
  readonly total: number;
  readonly other?: number;
}

/** Who asked for the end of a token. */
export interface Asker {
  /** "" for a token without one. */
  readonly accessor: string;
  readonly display_name: string;
  readonly entity_id: string;
}

/** How a token ended (docs/inventory.md). */
export interface TokenEnd {
  readonly at: string;
  readonly how: string;
  /** Null when no token asked, or that is unknown. */
  readonly by: Asker | null;
  /** The accessor of the token that it ended with; its own when it ended by itself. */
  readonly cause: string;
  readonly request_id: string;
  /** The job that revoked it; "" without one. */
  readonly job: string;
  /** Number of other tokens that ended with it. */
  readonly with?: number;
}

export interface EndedToken {
  readonly token: Token;
  readonly ended: TokenEnd;
}
