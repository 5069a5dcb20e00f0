import type { EndedToken, Token, TokenDetail } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { isNumberAsShown } from "../records/typed-confirmation.ts";

/** Most accessors in one request. */
export const MOST_NAMED = 900;

/** Selected tokens: by a filter of the inventory, or by accessors. */
export type Selection = Readonly<Record<string, string | boolean | readonly string[]>>;

/** Why a selection is too large for one revocation; "" when it is not. */
export function refusalOf({ accessors }: Selection): string {
  if (!Array.isArray(accessors) || accessors.length <= MOST_NAMED) return "";
  return `${count(MOST_NAMED)} tokens can be revoked at once by selecting them: select fewer, or filter for what they have in common`;
}

export type Amount = TokenDetail["descendants"];

/**
 * True when the typed text confirms a bulk revocation: it must be the exact number of tokens, with the
 * separators of the page or without. False for 0, and for an inexact number.
 */
export function isConfirmed({ count, more }: Amount, typed: string): boolean {
  return count > 0 && !more && isNumberAsShown(count, typed);
}

/** The first metadata pairs, which distinguish tokens of the same name; "" without any. */
export const pairsText = ({ metadata }: Pick<Token, "metadata">, most = 2): string =>
  Object.entries(metadata)
    .slice(0, most)
    .map(([key, value]) => `${key}=${value}`)
    .join(" · ");

export const nameOf = (token: Token): string => token.display_name || "token";

/** `1,204`, or `10,000+` when counting stopped there. */
export const amountText = ({ count, more }: Amount): string => `${count.toLocaleString("en")}${more ? "+" : ""}`;

/** `8 children`; "" for none. */
export const childrenText = (children: number): string => (children > 0 ? counted(children, "child", "children") : "");

/** `56 descendants`; "" for none. */
export const descendantsText = ({ count, more }: Amount): string =>
  count > 0 ? `${amountText({ count, more })} ${count === 1 && !more ? "descendant" : "descendants"}` : "";

export type Asker = NonNullable<TokenEnd["by"]>;

export type TokenEnd = EndedToken["ended"];

/** The path of a mount below `auth/`, as pages name it. */
export const mountName = (mount: string): string => mount.replace(/^auth\/|\/$/g, "");
