import { counted } from "../format.ts";
import type { AuditEvent } from "./event.ts";
import { revocationOf } from "./revocation-event.ts";

/** For how long events are kept, in words. */
export const keptText = (days: number | undefined): string =>
  `Events are kept for ${days === undefined ? "30 days, unless the server's setting AUDIT_DAYS says otherwise" : counted(days, "day")}.`;

/** The kind of an event, for the timeline of a token, an entity or a role. */
export type EventKind =
  | "made"
  | "login"
  | "made another"
  | "renewed"
  | "ended"
  | "counted"
  | "asked"
  | "changed"
  | "refused"
  | "failed"
  | "noted";

const RENEWAL = /^(?:auth\/token\/renew(?:-self|-accessor)?|sys\/(?:leases\/)?renew)(?:\/|$)/;
const END = /^(?:auth\/token\/revoke(?:-self|-accessor|-orphan)?|sys\/(?:leases\/)?revoke)(?:\/|$)/;

/** Requests with a body that only read: they have changed nothing. */
const QUESTION =
  /^(?:auth\/.+\/explain\/login|auth\/token\/lookup(?:-accessor)?|sys\/explain\/.+|sys\/capabilities(?:-self|-accessor)?|sys\/leases\/lookup|sys\/tokens\/(?:find|verify-ended)|sys\/audit\/events|sys\/audit-self\/events|identity\/lookup\/.+)$/;

const OF_ENTITY = /^identity\/entity(?:$|\/(?:id|name)\/)/;
const NOT_BEFORE = /^identity\/entity\/id\/[^/]+\/not-before$/;

/** `the last 50 events`; without events, whether earlier ones exist but were not read. */
export function countText(shown: number, hasMore: boolean): string {
  if (!hasMore) return counted(shown, "event");
  return shown === 0 ? "none so far, and earlier ones are not read" : `the last ${counted(shown, "event")}`;
}

/**
 * The token of a request that was not valid any more. It is found by the keyed hash of its text in an earlier event.
 */
export const tokenOfHash = (events: readonly AuditEvent[], hash: string): AuditEvent["auth"] =>
  hash === ""
    ? undefined
    : events.find(({ auth, token_hash: one }) => one === hash && auth && auth.accessor !== "")?.auth;

/** What a change did to the use of an entity, as a verb; "" for any other event. */
export function deedOf({ path = "", operation, data, target_entities: entities = [] }: AuditEvent): string {
  if (entities.length === 0) return "";
  if (NOT_BEFORE.test(path)) return "Ended the tokens of";
  if (!OF_ENTITY.test(path)) return "";
  if (operation === "delete") return "Deleted";
  return data?.disabled === true ? "Disabled" : "";
}

/** The accessor of the token that a request has made, or its keyed hash; "" for none. */
export function madeOf({ response }: AuditEvent): string {
  const { accessor = "", token_hash: hash = "" } = response?.auth ?? {};
  return accessor || hash;
}

/** True when the answer of the request is in the wrapping token with this accessor. */
export const isWrappedIn = ({ response }: AuditEvent, accessor: string): boolean =>
  accessor !== "" && response?.wrap_info?.accessor === accessor;

/** The accessor of the calling token, or its keyed hash; "" without a valid token, and for a login. */
export function callerOf(event: AuditEvent): string {
  const { auth, token_hash: hash = "" } = event;
  const caller = auth ? auth.accessor || hash : "";
  return caller === madeOf(event) ? "" : caller;
}

/** The token that was renewed, ended or changed: the named token, else the caller. */
export const aboutOf = (event: AuditEvent): string => event.target_accessor ?? callerOf(event);

/** @param of accessor of the token that the timeline is of; "" for another timeline */
export function eventKindOf(event: AuditEvent, of = ""): EventKind {
  const { kind, path = "" } = event;
  if (kind === "fault") return "failed";
  if (kind === "refusal") return "refused";
  if (kind === "other") return "noted";
  const made = madeOf(event);
  if ((made !== "" && made === of) || isWrappedIn(event, of)) return "made";
  if (made !== "") return callerOf(event) === "" ? "login" : "made another";
  const revocation = revocationOf(event);
  if (revocation) return revocation.isDry ? "counted" : "ended";
  // A lease of a secret: its token goes on.
  if (event.holder_accessor !== undefined) return "changed";
  if (RENEWAL.test(path)) return "renewed";
  if (END.test(path)) return "ended";
  return QUESTION.test(path) ? "asked" : "changed";
}

/** The end of a token, as `sys/tokens/ended` has it. */
interface KnownEnd {
  readonly at: string;
  readonly request_id: string;
}

/**
 * The index in its events, the newest first, before which a token's end belongs. Null when an event already shows the
 * end, or when the end is older than all loaded events and there are more to load.
 */
export function placeOfEnd(events: readonly AuditEvent[], of: string, end: KnownEnd, hasMore: boolean): number | null {
  const isSaid = events.some(
    (event) => event.request_id === end.request_id && eventKindOf(event, of) === "ended" && aboutOf(event) === of,
  );
  if (isSaid) return null;
  const ended = Date.parse(end.at);
  const older = events.findIndex(({ time }) => Date.parse(time) <= ended);
  if (older >= 0) return older;
  return hasMore ? null : events.length;
}

/** The keyed hash of a token's text, by which the attempts after its end are found; "" when no event has it. */
export const hashOfCaller = (events: readonly AuditEvent[], of: string): string =>
  events.find(({ auth, token_hash: hash = "" }) => auth?.accessor === of && hash !== "")?.token_hash ?? "";
