import { mentionOf } from "../../../audit/entry.ts";
import { type EventsOf, makersOf, tokensBelow } from "../../../audit/provenance.ts";
import type { AuditEvent } from "../../../audit/query.ts";
import { keptDays } from "../../../audit/retention.ts";
import {
  cursorAfter,
  eventPages,
  FIRST_PAGE,
  type LineagePlace,
  readLineageCursor,
  searchEvents,
  searchUses,
  writeEventCursor,
  writeLineageCursor,
} from "../../../audit/search.ts";
import { flushAudit } from "../../../audit/writer/isolate-writer.ts";
import { type ParsedToken, readToken } from "../../../auth/read-token.ts";
import { type Answered, type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, inTime, type Ms } from "../../../base/clock.ts";
import { ok, okUnless, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { storedJson } from "../../../storage/tables.ts";
import type { Installation } from "../../../system/installation.ts";
import { readAccessor } from "../../../token/ids.ts";
import type { AuditLine } from "../../../wire/audit.ts";
import { dataReply } from "../../../wire/reply.ts";
import { END_VIEW, endOfToken } from "../tokens/end-of-token.ts";
import { EVENT_QUERY, nameToken, OWN_QUERY, type ReadQuery, readEventQuery } from "./query.ts";
import { BELOW_SHAPE, EVENT_SHAPE, MADE_SHAPE, showEvent, showMade, USE_VIEW } from "./view.ts";

/** Uses in an answer, and events of what was tried after the end of a token. */
const MAX_SHOWN_USES = 200;
const MAX_ATTEMPTS = 100;
const PAGE_OF_LINEAGE = 500;

const EVENTS = { events: [EVENT_SHAPE], next: "string", kept_days: "number" } as const;
const OFF = refuse("the audit store is off: the deployment sets AUDIT_STORE");

/** The fields of an answer about one token, besides its events. */
const OF_TOKEN = {
  "accessor?": "string",
  "makers?": [MADE_SHAPE],
  "uses?": [USE_VIEW.shape],
  "more_uses?": "boolean",
  "attempts?": [EVENT_SHAPE],
  "ended?": END_VIEW.shape,
  "end_is_unknown?": "boolean",
  "below?": [BELOW_SHAPE],
  "complete?": "boolean",
  "below_next?": "string",
} as const;

interface EventQuestion extends ReadQuery {
  readonly named: ParsedToken | null;
  /** Where the descendants of a token go on; null: they don't. */
  readonly places: readonly LineagePlace[] | null;
}

/** Questions to the audit store. A token is accepted in a body only, because URLs are logged. */
export const EVENT_ROUTES: readonly Route[] = [
  tokenRoute(["read", "update"], "sys/audit/events", {
    summary: "Finds events of the audit store.",
    operationId: { read: "auditing-list-events", update: "auditing-find-events" },
    answers: dataAnswer({ ...EVENTS, ...OF_TOKEN }),
    input: EVENT_QUERY,
    prepare: async (context): Promise<Result<EventQuestion>> => {
      const { env, installation, request, fields } = context;
      const { token, accessor, lineage } = fields;
      if (env.AUDIT_STORE === "off") return OFF;
      if (token !== "" && request.operation === "read") return refuse("send a token in a body, by POST");
      if (token !== "" && accessor !== "") return refuse("send either token or accessor");
      if (lineage && token === "" && accessor === "") return refuse("lineage needs a token or an accessor");
      const places = fields.below_after === "" ? null : readLineageCursor(fields.below_after);
      if (fields.below_after !== "" && !(lineage && places))
        return refuse("below_after is not the cursor of a lineage");
      const named = token === "" ? null : await readToken(env, installation, token);
      if (token !== "" && !named) return refuse("the text is no token of this installation");
      const question = await readEventQuery(context);
      return question.ok ? ok({ ...question.value, named, places }) : question;
    },
    handle: async ({ env, installation, fields, prepared }): Answered => {
      await flushAudit(env);
      if (prepared.places)
        return dataReply({ events: [], next: "", kept_days: keptDays(env), ...(await belowOf(env, prepared.places)) });
      const named = prepared.named && (await nameToken(env, installation, prepared.named));
      const accessor = named?.accessor ?? fields.accessor;
      const mentions = named ? [mentionOf("accessor", named.accessor), ...prepared.mentions] : prepared.mentions;
      const found = await findEvents(env, { ...prepared, mentions });
      const isFirst = accessor !== "" && fields.after === "";
      const shown = { events: found.events.map(showEvent), next: found.next, kept_days: keptDays(env) };
      if (!isFirst) return dataReply(shown);
      const hash = named?.hash ?? hashOf(found.events, accessor);
      const [uses, attempts, origin, ended] = await Promise.all([
        usesOf(env, accessor, prepared.filter.from ?? 0),
        hash !== "" && hash !== accessor ? attemptsOf(env, hash) : null,
        originOf(env, accessor, fields.lineage),
        endOf(env, installation, accessor),
      ]);
      return dataReply({ ...shown, accessor, ...uses, ...(attempts && { attempts }), ...origin, ...ended });
    },
  }),

  tokenRoute("read", "sys/audit-self/events", {
    summary: "Finds events of the caller's own entity.",
    operationId: "auditing-list-own-events",
    answers: dataAnswer(EVENTS),
    input: OWN_QUERY,
    prepare: async (context) => (context.env.AUDIT_STORE === "off" ? OFF : readEventQuery(context)),
    handle: async ({ env, caller, prepared }): Answered => {
      const { entityId } = caller.record;
      const problem = okUnless(entityId === "" ? "the token is not associated with an entity" : null, entityId);
      if (!problem.ok) return problem;
      await flushAudit(env);
      const mentions = [mentionOf("entity", entityId), ...prepared.mentions];
      const { events, next } = await findEvents(env, { ...prepared, mentions }, entityId);
      return dataReply({ events: events.map((event) => shownTo(event, entityId)), next, kept_days: keptDays(env) });
    },
  }),
];

/** Shows an event to an entity. An event of another caller does not show that caller, its token and its address. */
function shownTo(event: AuditEvent, entityId: string): Record<string, unknown> {
  const shown = showEvent(event);
  if (storedJson<CallerLine>(event.line).auth?.entity_id === entityId) return shown;
  const { auth: _, token_hash: __, client_address: ___, ...others } = shown;
  return others;
}

/**
 * Returns a page of events. It can have fewer events than asked for although there is a next page.
 *
 * @param doneBy id of an entity: only events of its own tokens, because other events show other callers; "" for all.
 */
async function findEvents(env: Env, { actor, ...question }: ReadQuery, doneBy = "") {
  const found = await searchEvents(env, question);
  const isMeant = (event: AuditEvent) => {
    if (actor === "" && doneBy === "") return true;
    const line = storedJson<CallerLine>(event.line);
    return (actor === "" || callerOfLine(line) === actor) && (doneBy === "" || isOf(line, doneBy));
  };
  return { events: withoutRepeats(found.events).filter(isMeant), next: writeEventCursor(found.next) };
}

type CallerLine = Pick<AuditLine, "auth" | "token_hash" | "response">;

function callerOfLine({ auth, token_hash: hash = "" }: CallerLine): string {
  return auth?.accessor || hash;
}

/** True when a token of the entity asked, or was made. */
function isOf({ auth, response }: CallerLine, entityId: string): boolean {
  return auth?.entity_id === entityId || response?.auth?.entity_id === entityId;
}

/** Removes repeated events: after a late answer, a batch can be stored in two shards. */
function withoutRepeats(events: readonly AuditEvent[]): readonly AuditEvent[] {
  const seen = new Set<string>();
  return events.filter(({ line }) => {
    const isNew = !seen.has(line);
    seen.add(line);
    return isNew;
  });
}

/** Time limit for the tree and the shards, which know how a token ended. */
const END_MS: Ms = 2000;

/**
 * Returns how a token ended, also when no request named it: with its parent, by a watermark, or with its entity. Its
 * events are answered even if the tree does not answer: an attacker with the token can keep its tree busy.
 */
async function endOf(env: Env, { keys }: Installation, accessor: string) {
  const address = await readAccessor(keys, accessor);
  if (!address) return null;
  try {
    const ended = await inTime(endOfToken(env, address), END_MS);
    return ended && { ended: END_VIEW.show(ended) };
  } catch (error) {
    console.error(JSON.stringify({ type: "end of a token", error: String(error) }));
    return { end_is_unknown: true };
  }
}

async function usesOf(env: Env, accessor: string, from: Ms) {
  const { uses, before } = await searchUses(env, accessor, from, currentTime() + 3_600_000);
  const shown = uses.slice(0, MAX_SHOWN_USES);
  return { uses: shown.map(USE_VIEW.show), more_uses: before !== null || shown.length < uses.length };
}

/** The keyed hash of the text of a token, of which the accessor is known: a request of its own has it; "" without one. */
function hashOf(events: readonly AuditEvent[], accessor: string): string {
  const lines = events.map(({ line }) => storedJson<CallerLine>(line));
  return (
    lines.find(({ auth, token_hash: hash }) => auth?.accessor === accessor && hash !== undefined)?.token_hash ?? ""
  );
}

/** What was tried with a token that was not valid. */
async function attemptsOf(env: Env, hash: string) {
  const question = { mentions: [mentionOf("accessor", hash)], filter: {}, newestFirst: true, limit: MAX_ATTEMPTS };
  const { events } = await searchEvents(env, { ...question, cursor: FIRST_PAGE });
  return withoutRepeats(events).map(showEvent);
}

/** The question for the events in which a token was made or may have made others, the oldest first. */
function makingsOf(accessor: string) {
  const filter = { kinds: ["change", "login"] as const };
  return { mentions: [mentionOf("accessor", accessor)], filter, newestFirst: false, limit: PAGE_OF_LINEAGE };
}

async function originOf(env: Env, accessor: string, withLineage: boolean) {
  const eventsOf: EventsOf = (of) => eventPages(env, makingsOf(of));
  const makers = (await makersOf(eventsOf, accessor)).map(showMade);
  return { makers, ...(withLineage && (await belowOf(env, [{ accessor, cursor: FIRST_PAGE }]))) };
}

/** Some of the descendants of a token, from a place on. */
async function belowOf(env: Env, places: readonly LineagePlace[]) {
  const { tokens, next } = await tokensBelow(async (of, cursor) => {
    const page = await searchEvents(env, { ...makingsOf(of), cursor });
    let after = cursor;
    const events = page.events.map((event) => {
      after = cursorAfter(after, event);
      return { event, after };
    });
    return { events, next: page.next };
  }, places);
  const below = tokens.map(showMade);
  return { below, complete: next === null, below_next: writeLineageCursor(next) ?? "" };
}
