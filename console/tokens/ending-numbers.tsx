import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Notice } from "../ui/index.ts";
import type { Preview } from "./revocation-preview.ts";
import { PreviewFacts } from "./revoke-dialog.tsx";
import type { Selection } from "./selection.ts";
import { previewRevocation } from "./token-api.ts";

interface EndingNumbersProps {
  /** The tokens that end; root tokens and the caller's own are counted too. */
  readonly selection: Selection;
  readonly onCounted?: (preview: Preview) => void;
}

/** What ends with these tokens, or why that can't be counted. */
export function EndingNumbers({ selection, onCounted }: EndingNumbersProps) {
  const { api } = useSession();
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const key = JSON.stringify(selection);
  useEffect(() => {
    let waits = true;
    const all = { ...selection, include_root: true, include_self: true };
    previewRevocation(api, all, () => waits).then((answer) => {
      if (!waits) return;
      if (!answer.ok) return setProblem(answer.problem);
      setPreview(answer.value);
      onCounted?.(answer.value);
    });
    return () => {
      waits = false;
    };
  }, [api, key]);
  if (problem)
    return (
      <Notice tone="warn" title="What would end can't be counted">
        {problem.messages.join(" ")}
      </Notice>
    );
  if (!preview) return <p class="muted">Counting what would end…</p>;
  return (
    <>
      <PreviewFacts preview={preview} />
      <p class="small muted">Batch tokens end too. No list has them, so they are not counted.</p>
    </>
  );
}
