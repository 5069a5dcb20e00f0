import { useEffect, useState } from "preact/hooks";
import { isRequestId, partOfIdText } from "../audit/question.ts";
import { href } from "../href.ts";
import { NAV } from "../nav.ts";
import { isSecretLike } from "../secret-like.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { textItself, tokensByText } from "./find-tokens.ts";
import { type Found, matching } from "./found.ts";
import type { Itself } from "./found-text.ts";
import { namesOf } from "./names.ts";

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
  /** What the server says of the text as a whole; "" when it was not asked. */
  readonly note: string;
  /** True while an answer for the typed text is on its way. */
  readonly busy: boolean;
}

/**
 * Results for the typed text.
 *
 * @param isWhole the text was pasted, so that it may be a token in any form: it is compared as a whole before it is searched for
 */
export function useFound(text: string, isWhole: boolean): Search {
  const session = useSession();
  const { api } = session;
  const [names, setNames] = useState<readonly Found[]>([]);
  const [tokens, setTokens] = useState<Itself & { readonly text: string }>(NOTHING);
  useEffect(() => {
    namesOf(api, Date.now()).then(setNames);
  }, [api]);
  const mayList = mayDo(session, ASKED_PATHS.tokens, "read", "sudo");
  useEffect(() => {
    if (text === "") return;
    let isOld = false;
    const ask = async (): Promise<void> => {
      const isSecret = isSecretLike(text);
      const itself = isSecret || (isWhole && !/\s/.test(text)) ? await textItself(api, text) : NOTHING;
      if (isOld) return;
      const isSearched = itself.found.length === 0 && !itself.isKnown && !isSecret && mayList;
      const found = isSearched ? await tokensByText(api, text) : itself.found;
      // A word that was pasted is no token: it is searched for.
      if (!isOld) setTokens({ ...itself, text, found, note: isSearched && found.length > 0 ? "" : itself.note });
    };
    const timer = window.setTimeout(ask, isWhole ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      window.clearTimeout(timer);
    };
  }, [api, text, isWhole, mayList]);
  if (text === "") return { found: PAGES, note: "", busy: false };
  // The previous results stay until the next answer, so that the list does not jump.
  const busy = tokens.text !== text;
  const found = [...requestOf(text), ...tokens.found, ...matching([...names, ...PAGES], text)];
  return { found, note: busy || (isRequestId(text) && !tokens.isKnown) ? "" : tokens.note || partOfIdText(text), busy };
}

/** The page of a request, for a text with the form of its id. Entities have ids of this form too. */
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

const NOTHING = { text: "", found: [], note: "", isKnown: false };
