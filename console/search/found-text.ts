import { isShortPart, SHORT_TEXT } from "../audit/request-id.ts";
import { counted } from "../format.ts";
import { MAX_SEARCH } from "../tokens/filter.ts";
import { type Found, KINDS, type Kind, SHOWN_OF_KIND } from "./search-result.ts";

/**
 * `1 entity, the first 6 tokens`: numbers of results by kind; without any, that nothing is known by the text, or that
 * tokens may not be looked for.
 *
 * @param refusal why the policies refuse to look for tokens; "" when they do not
 * @param cut the kinds whose names were not all searched
 */
export function foundText(found: readonly Found[], text: string, refusal: string, cut: readonly Kind[] = []): string {
  const first =
    cut.length === 0 ? "" : ` Only the first were searched: ${cut.map((kind) => NOUNS[kind][1]).join(", ")}.`;
  if (found.length === 0 && refusal !== "")
    return `Not found in the lists that you may read.${first} No list of tokens was searched: ${refusal}.`;
  if (found.length === 0 && [...text].length > MAX_SEARCH)
    return `Nothing is known by this, and it is too long to search for: ${MAX_SEARCH} characters at most. Of an error message, the URL of its request leads to what was refused there.`;
  if (found.length === 0) return `${NOTHING_FOUND}${first}${isShortPart(text) ? ` ${SHORT_TEXT}` : ""}`;
  return KINDS.flatMap((kind) => {
    if (kind === "Lists") return [];
    const of = found.filter((one) => one.kind === kind).length;
    const shown = of === SHOWN_OF_KIND ? "the first " : "";
    return of === 0 ? [] : [`${shown}${counted(of, ...NOUNS[kind])}`];
  }).join(", ");
}

/** Names what no list contains: a token that is not in a list may still be alive. */
const NOTHING_FOUND =
  "Nothing is found by this. Batch tokens are found by their whole text alone, tokens of teams by that, their id or description, entities not by their metadata.";

const NOUNS: Readonly<Record<Kind, readonly [one: string, many: string]>> = {
  Requests: ["request", "requests"],
  Receipts: ["receipt", "receipts"],
  Tokens: ["token", "tokens"],
  Leases: ["lease", "leases"],
  Entities: ["entity", "entities"],
  Groups: ["group", "groups"],
  Roles: ["role", "roles"],
  Policies: ["policy", "policies"],
  "Auth methods": ["auth method", "auth methods"],
  Teams: ["team or organization", "teams and organizations"],
  "Tokens of teams": ["token of a team", "tokens of teams"],
  "Ended tokens": ["ended token", "ended tokens"],
  Pages: ["page", "pages"],
  Lists: ["list", "lists"],
};
