import { useState } from "preact/hooks";
import type { AuditEvents } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { type Loaded, useLoad } from "../ui/index.ts";
import { type AuditEvent, distinctEvents } from "./event.ts";
import { type AuditQuestion, readEvents } from "./read-events.ts";

/** Events that were read so far. */
export interface ShownEvents {
  /** The first read. */
  readonly first: Loaded<unknown>;
  readonly events: readonly AuditEvent[];
  readonly hasMore: boolean;
  readonly problem: Problem | null;
  /** For how many days the server keeps events; undefined until it answers. */
  readonly keptDays?: number | undefined;
  /** Reads the next page. */
  more(): Promise<void>;
}

export interface EventPages extends ShownEvents {
  /** The first page. */
  readonly first: Loaded<AuditEvents>;
}

/** The pages after the first one. */
interface Later {
  readonly key: string;
  readonly events: readonly AuditEvent[];
  readonly next: string;
}

/** Most pages without an event that are read in a row. */
const MOST_EMPTY = 10;

/** Reads the next page that has events: a page can be empty although there are more. */
export async function readSome(
  api: Api,
  question: AuditQuestion,
  after: string,
  isOwn: boolean,
): Promise<Answer<AuditEvents>> {
  const first = await readEvents(api, question, { after, isOwn });
  let answer = first;
  for (let read = 1; read < MOST_EMPTY && answer.ok; read++) {
    const { events, next } = answer.value;
    if (events.length > 0 || next === "") break;
    answer = await readEvents(api, question, { after: next, isOwn });
  }
  if (!answer.ok || !first.ok) return answer;
  // Facts about the token are on its first page only.
  return done({ ...first.value, events: answer.value.events, next: answer.value.next });
}

/** Reads the events of a question page by page, and again when the question changes. */
export function useEvents(question: AuditQuestion, isOwn = false): EventPages {
  const { api } = useSession();
  const key = JSON.stringify([question, isOwn]);
  const first = useLoad(key, () => readSome(api, question, "", isOwn));
  const [later, setLater] = useState<Later | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const follows = later?.key === key ? later : null;
  const next = follows?.next ?? first.value?.next ?? "";
  const events = distinctEvents([...(first.value?.events ?? []), ...(follows?.events ?? [])]);
  const more = async (): Promise<void> => {
    const answer = await readSome(api, question, next, isOwn);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    setLater({ key, events: [...(follows?.events ?? []), ...answer.value.events], next: answer.value.next });
  };
  return { first, events, hasMore: next !== "", problem, keptDays: first.value?.kept_days, more };
}
