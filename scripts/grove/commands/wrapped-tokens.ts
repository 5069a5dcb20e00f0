import { ok } from "../../../src/base/result.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { readEvents } from "./audit-pages.ts";
import { checkEnded, unprovenOf } from "./ended-check.ts";

/** Reads from the audit store the accessors of the tokens that a wrapping token holds or held. */
export async function wrappedTokens({ client, terminal }: Session, wrapping: string): Promise<Called<string[]>> {
  const events = await readEvents(client, terminal, { accessor: wrapping }, Number.POSITIVE_INFINITY);
  if (!events.ok) return events;
  const infos = events.value.events.flatMap(({ response }) => (response?.wrap_info ? [response.wrap_info] : []));
  const inside = infos.filter(({ accessor }) => accessor === wrapping).map((info) => info.wrapped_accessor ?? "");
  return ok([...new Set(inside.filter((accessor) => accessor !== ""))]);
}

/** Returns the accessors of the tokens from a wrapping token that are not proved to be refused. */
export async function aliveWrapped(session: Session, wrapping: string): Promise<Called<string[]>> {
  const inside = await wrappedTokens(session, wrapping);
  if (!inside.ok || inside.value.length === 0) return inside;
  const checked = await checkEnded(session.client, { accessors: inside.value });
  return checked.ok ? ok(unprovenOf(checked.value)) : checked;
}
