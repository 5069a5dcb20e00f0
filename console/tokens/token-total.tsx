import { useState } from "preact/hooks";
import type { TokenSummary } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import { type Amount, amountText } from "./amount.ts";
import { type Filter, filterBody } from "./filter.ts";
import { countTokens } from "./token-api.ts";

interface TotalProps {
  readonly filter: Filter;
  /** Number of tokens in the list so far. */
  readonly shown: number;
  /** True when the list has more. */
  readonly more: boolean;
  readonly mayCount: boolean;
}

/**
 * The total of a list. With a filter and further pages the total is counted on request, because the server then reads each
 * token.
 */
export function Total({ filter, shown, more, mayCount }: TotalProps) {
  const { api } = useSession();
  const key = JSON.stringify(filter);
  const isAll = key === "{}";
  const summary = useLoad("total", () => api.read<TokenSummary>("sys/tokens/summary"));
  const [counting, setCounting] = useState<{ readonly key: string; readonly amount: Amount | null } | null>(null);
  const counts = counting?.key === key ? counting : null;
  const ask = async (): Promise<void> => {
    setCounting({ key, amount: null });
    const answer = await countTokens(api, filterBody(filter));
    setCounting(answer.ok ? { key, amount: answer.value } : null);
  };
  if (!more) return <>{counted(shown, "token")}</>;
  if (isAll && summary.value) {
    return (
      <>
        {count(shown)} of {counted(summary.value.total, "token")}
      </>
    );
  }
  if (counts?.amount) {
    return (
      <>
        {count(shown)} of {amountText(counts.amount)} tokens
      </>
    );
  }
  return (
    <>
      the first {counted(shown, "token")}{" "}
      {!isAll && mayCount && (
        <button type="button" class="link" disabled={counts !== null} onClick={ask}>
          {counts ? "Counting…" : "Count all"}
        </button>
      )}
    </>
  );
}
