import { useState } from "preact/hooks";
import type { AuditEvents } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, MoreButton, SendProblem, Time } from "../ui/index.ts";
import { TokenLink } from "./links.tsx";
import { readEvents } from "./read-events.ts";
import { type BelowToken, inOrder } from "./tree-order.ts";

/** Tokens that are shown at first. */
const SHOWN = 100;

/**
 * All descendants of a token, also ended tokens and orphans, by the records of who made them. Loaded when the user asks
 * for it.
 */
export function MadeBelow({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const [answer, setAnswer] = useState<AuditEvents | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const read = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    const next = answer?.below_next ?? "";
    const found = await readEvents(api, {
      accessor,
      lineage: true,
      limit: 1,
      ...(next !== "" && { below_after: next }),
    });
    setBusy(false);
    setProblem(found.ok ? null : found.problem);
    if (found.ok) setAnswer({ ...found.value, below: [...(answer?.below ?? []), ...(found.value.below ?? [])] });
  };
  const below = answer?.below ?? [];
  return (
    <Card
      title="All that it made"
      beside={
        answer && (
          <span class="muted number" role="status">
            {answer.complete === false && "more than "}
            {counted(below.length, "token")}
          </span>
        )
      }
    >
      {!answer && (
        <div class="body stack tight">
          <p class="muted">Every token that it made, and that those made: ended ones and orphans too.</p>
          <SendProblem problem={problem} />
          <div class="actions">
            <button type="button" class="button" onClick={read} aria-disabled={busy}>
              {busy ? "Reading…" : "Show what hangs below it"}
            </button>
          </div>
        </div>
      )}
      {answer && below.length === 0 && <p class="body muted">It made no token.</p>}
      {below.length > 0 && <Tokens below={inOrder(accessor, below)} />}
      {answer && <SendProblem problem={problem} />}
      {answer?.below_next && <MoreButton label={busy ? "Reading…" : "Read more tokens"} onClick={read} />}
    </Card>
  );
}

function Tokens({ below }: { readonly below: readonly BelowToken[] }) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? below : below.slice(0, SHOWN);
  return (
    <>
      <ol class="lineage" aria-label="Tokens below it">
        {shown.map(({ accessor, display_name: name, token_type: type, path, time, depth }) => (
          <li key={accessor} style={{ "--depth": String(depth - 1) }}>
            <span>
              <TokenLink accessor={accessor} name={name} /> {type !== "service" && <span class="tag">{type}</span>}
            </span>
            <span class="muted small">
              <code>{path}</code> · <Time at={time} />
            </span>
          </li>
        ))}
      </ol>
      {below.length > shown.length && (
        <MoreButton label={`Show all ${count(below.length)} tokens`} onClick={() => setIsWhole(true)} />
      )}
    </>
  );
}
