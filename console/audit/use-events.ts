import { useState } from "preact/hooks";
import type { AuditEvents } from "../../client/answers.d.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { type Loaded, useLoad } from "../ui/index.ts";
import type { AuditEvent } from "./event.ts";
import { type AuditQuestion, readEvents } from "./read.ts";

/** Events that were read so far. */
export interface EventPages {
  /** The first page. */
  readonly first: Loaded<AuditEvents>;
  readonly events: readonly AuditEvent[];
  readonly hasMore: boolean;
  readonly problem: Problem | null;
  /** Reads the next page. */
  more(): Promise<void>;
}

/** The pages after the first one. */
interface Later {
  readonly key: string;
  readonly events: readonly AuditEvent[];
  readonly next: string;
}

/** Reads the events of a question, page after page. They are read again when the question changes. */
export function useEvents(question: AuditQuestion, isOwn = false): EventPages {
  const { api } = useSession();
  const key = JSON.stringify([question, isOwn]);
  const first = useLoad(key, () => readEvents(api, question, { isOwn }));
  const [later, setLater] = useState<Later | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const follows = later?.key === key ? later : null;
  const next = follows?.next ?? first.value?.next ?? "";
  const events = [...(first.value?.events ?? []), ...(follows?.events ?? [])];
  const more = async (): Promise<void> => {
    const answer = await readEvents(api, question, { after: next, isOwn });
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    // A page can be empty although there are more.
    setLater({ key, events: [...(follows?.events ?? []), ...answer.value.events], next: answer.value.next });
  };
  return { first, events, hasMore: next !== "", problem, more };
}
