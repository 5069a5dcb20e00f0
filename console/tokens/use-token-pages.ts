import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import type { Problem } from "../result.ts";
import { listTokens } from "./token-api.ts";

const PAGE = 100;
/** Most empty pages that are read in a row: the server's work for a page is bounded, so a page may be empty. */
const MAX_EMPTY_PAGES = 10;

export interface TokenPages {
  readonly tokens: readonly Token[];
  readonly next: string;
  readonly busy: boolean;
  readonly problem: Problem | null;
  more(): void;
  reload(): void;
}

/** The tokens of a query, page by page. */
export function useTokenPages(api: Api, query: Readonly<Record<string, string>>): TokenPages {
  const [tokens, setTokens] = useState<readonly Token[]>([]);
  const [next, setNext] = useState("");
  const [busy, setBusy] = useState(true);
  const [problem, setProblem] = useState<Problem | null>(null);
  const turn = useRef(0);
  const key = JSON.stringify(query);

  const load = useCallback(
    async (after: string) => {
      turn.current += 1;
      const mine = turn.current;
      setBusy(true);
      let from = after;
      for (let page = 0; page < MAX_EMPTY_PAGES; page++) {
        const answer = await listTokens(api, { ...JSON.parse(key), limit: PAGE, after: from });
        if (mine !== turn.current) return;
        if (!answer.ok) {
          setProblem(answer.problem);
          break;
        }
        const { tokens: found } = answer.value;
        from = answer.value.next;
        setProblem(null);
        setNext(from);
        setTokens((before) => (after === "" ? found : [...before, ...found]));
        if (found.length > 0 || from === "") break;
      }
      setBusy(false);
    },
    [api, key],
  );
  useEffect(() => {
    load("");
    return () => {
      turn.current += 1;
    };
  }, [load]);
  return { tokens, next, busy, problem, more: () => load(next), reload: () => load("") };
}
