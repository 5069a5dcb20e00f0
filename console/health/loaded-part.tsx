import type { ComponentChildren } from "preact";
import { ProblemNotice } from "../ui/notice.tsx";
import type { Loaded } from "../ui/use-load.ts";

interface LoadedPartProps {
  readonly loaded: Loaded<unknown>;
  readonly children: ComponentChildren;
}

/** The inside of a card: what is loaded, or why it is not. */
export function LoadedPart({ loaded, children }: LoadedPartProps) {
  return (
    <div class="body">
      {loaded.problem && <ProblemNotice problem={loaded.problem} onRetry={loaded.reload} />}
      {loaded.value === null && loaded.busy && <p class="muted">Loading…</p>}
      {children}
    </div>
  );
}
