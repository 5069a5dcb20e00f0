import { ProblemNotice } from "./notice.tsx";
import type { Loaded } from "./use-load.ts";

/** The state of a load without content: loading, or why it failed. Renders nothing with content. */
export function Loading({ of: { value, problem, busy, reload } }: { readonly of: Loaded<unknown> }) {
  if (problem) return <ProblemNotice problem={problem} onRetry={reload} />;
  return value === null && busy ? <p class="muted">Loading…</p> : null;
}
