import { useEffect, useState } from "preact/hooks";
import { isRequestId, partOfIdText } from "../audit/request-id.ts";
import { href } from "../href.ts";
import { NAV } from "../nav.ts";
import { mayBeToken } from "../secret-detection.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { textItself, tokensByText } from "./find-tokens.ts";
import { type Found, matching } from "./search-result.ts";
import { namesOf } from "./searchable-names.ts";
import { type Itself, NOTHING } from "./text-result.ts";

/** Pause in typing before the server is asked (ms). */
const PAUSE_MS = 180;

const PAGES: readonly Found[] = NAV.flatMap(({ items }) => items).map(({ name, label, words = "" }) => ({
  kind: "Pages",
  name: label,
  detail: words,
  href: href(name === "" ? [] : [name]),
}));

export interface Search {
  readonly found: readonly Found[];
  /** The server's answer about the whole text; "" when it was not asked. */
  readonly note: string;
  /** True while the answer for the typed text is pending. */
  readonly busy: boolean;
}

/**
 * Results for the typed text. The text may be a token in any form. Only if the server does not know it as a token, URLs
 * may contain it, for searches and in links of results.
 *
 * @param isWhole true for pasted text, which is complete
 */
export function useSearch(text: string, isWhole: boolean): Search {
  const session = useSession();
  const { api } = session;
  const [names, setNames] = useState<readonly Found[]>([]);
  const [tokens, setTokens] = useState<Itself & { readonly text: string }>({ ...NOTHING, text: "" });
  useEffect(() => {
    namesOf(api, Date.now()).then(setNames);
  }, [api]);
  const mayList = mayDo(session, ASKED_PATHS.tokens, "read", "sudo");
  useEffect(() => {
    if (text === "") return;
    let isOld = false;
    const ask = async (): Promise<void> => {
      const itself = mayBeToken(text) ? await textItself(session, text) : NOTHING;
      if (isOld) return;
      if (itself.isKept || itself.found.length > 0) return setTokens({ ...itself, text });
      const searched = mayList ? await tokensByText(session, text) : NOTHING;
      if (isOld) return;
      const found = searched.isKept ? [] : [...requestOf(text), ...searched.found, ...listOf(text, searched.found)];
      setTokens({ ...searched, text, found });
    };
    const timer = window.setTimeout(ask, isWhole ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      window.clearTimeout(timer);
    };
  }, [session.api, text, isWhole, mayList]);
  if (text === "") return { found: PAGES, note: "", busy: false };
  // The previous results stay until the next answer, so that the list does not jump.
  const busy = tokens.text !== text;
  const found = [...tokens.found, ...matching([...names, ...PAGES], text)];
  return { found, note: busy || isRequestId(text) ? "" : tokens.note || partOfIdText(text), busy };
}

/** The page of a request, for a text with the form of its id. Entity ids have the same form. */
const requestOf = (text: string): readonly Found[] =>
  isRequestId(text)
    ? [
        {
          kind: "Requests",
          name: `Request ${text.toLowerCase()}`,
          detail: "who asked for what, and why it was refused",
          href: href(["requests", text.toLowerCase()]),
        },
      ]
    : [];

/** The list of all tokens that match the text. */
const listOf = (text: string, tokens: readonly Found[]): readonly Found[] =>
  tokens.length === 0 || text.length < MIN_SEARCH
    ? []
    : [{ kind: "Lists", name: `All tokens with “${text}”`, detail: "", href: href(["tokens"], { search: text }) }];
