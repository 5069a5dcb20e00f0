import { useState } from "preact/hooks";
import type { Api } from "../api.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import { type EventsRead, mergedEvents } from "./merged-events.ts";
import { readEvents } from "./read-events.ts";
import { readSome, type ShownEvents } from "./use-events.ts";

/** Most tokens whose events are read: each is a search of the store. */
export const MOST_TOKENS = 100;
/** Tokens that are asked about at the same time. */
const PARALLEL = 4;

interface Below {
  readonly read: readonly EventsRead[];
  /** True when there are more tokens below it. */
  readonly more: boolean;
}

interface EventsBelow extends ShownEvents {
  /** True when there are tokens below it whose events are not read. */
  readonly isPart: boolean;
}

/** The events of a token and of all that it made, also ended tokens and orphans. @param kind of the events; "" for all */
export function useEventsBelow(accessor: string, kind: string): EventsBelow {
  const { api } = useSession();
  const key = JSON.stringify([accessor, kind]);
  const first = useLoad(key, () => readAll(api, accessor, kind));
  const [later, setLater] = useState<{ readonly key: string; readonly read: readonly EventsRead[] } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const read = (later?.key === key ? later.read : first.value?.read) ?? [];
  const { events, unread } = mergedEvents(read);
  const more = async (): Promise<void> => {
    const answer = await readNext(api, kind, unread);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    const grown = new Map(answer.value.map((one) => [one.accessor, one]));
    setLater({ key, read: read.map((one) => grown.get(one.accessor) ?? one) });
  };
  return { first, events, hasMore: unread.length > 0, problem, more, isPart: first.value?.more === true };
}

async function readAll(api: Api, accessor: string, kind: string): Promise<Answer<Below>> {
  const below = await tokensBelow(api, accessor);
  if (!below.ok) return below;
  const wanted = [accessor, ...below.value.accessors].map((one) => ({ accessor: one, events: [], next: "" }));
  const read = await readNext(api, kind, wanted);
  return read.ok ? done({ read: read.value, more: below.value.more }) : read;
}

async function tokensBelow(api: Api, accessor: string) {
  const accessors = new Set<string>();
  let next = "";
  do {
    const after = next !== "" && { below_after: next };
    const answer = await readEvents(api, { accessor, lineage: true, limit: 1, ...after });
    if (!answer.ok) return answer;
    for (const token of answer.value.below ?? []) accessors.add(token.accessor);
    next = answer.value.below_next ?? "";
  } while (next !== "" && accessors.size < MOST_TOKENS);
  return done({ accessors: [...accessors].slice(0, MOST_TOKENS), more: next !== "" || accessors.size > MOST_TOKENS });
}

/** Reads the next page of each token. */
async function readNext(api: Api, kind: string, tokens: readonly EventsRead[]): Promise<Answer<readonly EventsRead[]>> {
  const read: EventsRead[] = [];
  for (let at = 0; at < tokens.length; at += PARALLEL) {
    const group = tokens.slice(at, at + PARALLEL);
    const answers = await Promise.all(
      group.map(({ accessor, next }) => readSome(api, { accessor, kind }, next, false)),
    );
    for (const [of, answer] of answers.entries()) {
      if (!answer.ok) return answer;
      const { accessor = "", events = [] } = group[of] ?? {};
      read.push({ accessor, events: [...events, ...answer.value.events], next: answer.value.next });
    }
  }
  return done(read);
}
