import { ok } from "../../../src/base/result.ts";
import { ENDED_CHECK } from "../answer-schemas.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { readEvents } from "./audit-pages.ts";

/** Accessors of the tokens that a wrapping token holds, or held, by the audit store. */
export async function wrappedTokens({ client, terminal }: Session, wrapping: string): Promise<Called<string[]>> {
  const events = await readEvents(client, terminal, { accessor: wrapping }, Number.POSITIVE_INFINITY);
  if (!events.ok) return events;
  const infos = events.value.events.flatMap(({ response }) => (response?.wrap_info ? [response.wrap_info] : []));
  const inside = infos.filter(({ accessor }) => accessor === wrapping).map((info) => info.wrapped_accessor ?? "");
  return ok([...new Set(inside.filter((accessor) => accessor !== ""))]);
}

/** Those of the tokens that a wrapping token held that are not proved to be refused. */
export async function aliveWrapped(session: Session, wrapping: string): Promise<Called<string[]>> {
  const inside = await wrappedTokens(session, wrapping);
  if (!inside.ok || inside.value.length === 0) return inside;
  const checked = await session.client.post("sys/tokens/verify-ended", ENDED_CHECK, { accessors: inside.value });
  return checked.ok ? ok([...checked.value.alive, ...checked.value.unanswered]) : checked;
}
