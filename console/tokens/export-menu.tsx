import { useState } from "preact/hooks";
import { count } from "../format.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { download, Menu, ProblemNotice } from "../ui/index.ts";
import { csvOf, jsonOf, MOST_EXPORTED } from "./csv-export.ts";
import type { Filter } from "./filter.ts";
import { readTokens } from "./token-api.ts";

interface ExportMenuProps {
  readonly filter: Filter;
  readonly sort: string;
}

/** Saves the list as a file, up to a limit that is shown. */
export function ExportMenu({ filter, sort }: ExportMenuProps) {
  const { api } = useSession();
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const save = async (kind: "csv" | "json"): Promise<void> => {
    setText("Reading…");
    const answer = await readTokens(api, { ...filter, sort }, MOST_EXPORTED);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return setText("");
    const { tokens, more } = answer.value;
    if (kind === "csv") download("tokens.csv", "text/csv", csvOf(tokens));
    else download("tokens.json", "application/json", jsonOf(tokens, filter, more));
    setText(
      more
        ? `The first ${count(tokens.length)} were saved: there are more.`
        : `All ${count(tokens.length)} were saved.`,
    );
  };
  return (
    <Menu title="Export">
      <button type="button" class="button" onClick={() => save("csv")}>
        CSV
      </button>
      <button type="button" class="button" onClick={() => save("json")}>
        JSON
      </button>
      <span class="small muted" aria-live="polite">
        {text || `At most ${count(MOST_EXPORTED)} tokens`}
      </span>
      {problem && <ProblemNotice problem={problem} />}
    </Menu>
  );
}
