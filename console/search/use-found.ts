import { useEffect, useState } from "preact/hooks";
import { href } from "../href.ts";
import { NAV } from "../nav.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { tokenItself, tokensByText } from "./find-tokens.ts";
import { type Found, isSecretLike, matching } from "./found.ts";
import { namesOf } from "./names.ts";

/** Pause in typing before the server is asked (ms). */
const PAUSE_MS = 180;

const PAGES: readonly Found[] = NAV.flatMap(({ items }) => items).map(({ name, label }) => ({
  kind: "Pages",
  name: label,
  detail: "",
  href: href(name === "" ? [] : [name]),
}));

export interface Search {
  readonly found: readonly Found[];
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
  const [tokens, setTokens] = useState<{ readonly text: string; readonly found: readonly Found[] }>(NOTHING);
  useEffect(() => {
    namesOf(api, Date.now()).then(setNames);
  }, [api]);
  const mayList = mayDo(session, ASKED_PATHS.tokens, "read", "sudo");
  useEffect(() => {
    if (text === "") return;
    let isOld = false;
    const ask = async (): Promise<void> => {
      const isSecret = isSecretLike(text);
      const itself = isSecret || (isWhole && !/\s/.test(text)) ? await tokenItself(api, text) : [];
      if (isOld) return;
      const isSearched = itself.length === 0 && !isSecret && mayList;
      const found = isSearched ? await tokensByText(api, text) : itself;
      if (!isOld) setTokens({ text, found });
    };
    const timer = window.setTimeout(ask, isWhole ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      window.clearTimeout(timer);
    };
  }, [api, text, isWhole, mayList]);
  if (text === "") return { found: PAGES, busy: false };
  // The previous results stay until the next answer, so that the list does not jump.
  return { found: [...tokens.found, ...matching([...names, ...PAGES], text)], busy: tokens.text !== text };
}

const NOTHING = { text: "", found: [] };
