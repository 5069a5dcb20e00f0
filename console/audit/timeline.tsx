import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { RevocationJobs } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import type { TokenEnd } from "../tokens/end.ts";
import { AskedBy, ParentLink } from "../tokens/links.tsx";
import { Card, Empty, MoreButton, ProblemNotice, Segments } from "../ui/index.ts";
import { Circumstances } from "./circumstances.tsx";
import type { AuditEvent } from "./event.ts";
import { countText, keptText, placeOfEnd } from "./event-kind.ts";
import { EventKindTag, EventText } from "./event-text.tsx";
import type { AuditQuestion } from "./read-events.ts";
import { type EventPages, type ShownEvents, useEvents } from "./use-events.ts";
import { MOST_TOKENS, useEventsBelow } from "./use-events-below.ts";
import { useJobs } from "./use-jobs.ts";

export type Kinds = "" | "change,login" | "refusal,fault";

const KINDS: readonly (readonly [Kinds, string])[] = [
  ["", "All"],
  ["change,login", "Done"],
  ["refusal,fault", "Refused"],
];

/** The choice that a parameter of a page names; all events for another text. */
export const kindsOf = (text: string): Kinds => KINDS.find(([kinds]) => kinds === text)?.[0] ?? "";

interface TimelineProps {
  readonly title: string;
  readonly question: AuditQuestion;
  readonly isOwn?: boolean;
  readonly empty: string;
}

/** The events of an entity or a role, the newest first. */
export function Timeline(props: TimelineProps) {
  const [kinds, setKinds] = useState<Kinds>("");
  return <ChosenTimeline {...props} kinds={kinds} onKinds={setKinds} />;
}

/** Events of the kinds that its page has chosen, the newest first. */
export function ChosenTimeline({
  title,
  question,
  isOwn = false,
  empty,
  kinds,
  onKinds,
}: TimelineProps & KindChoiceProps) {
  const pages = useEvents({ ...question, kind: kinds }, isOwn);
  return (
    <EventsCard
      title={title}
      pages={pages}
      empty={kinds === "" ? empty : NONE_OF_KIND}
      beside={<KindChoice kinds={kinds} onKinds={onKinds} />}
    />
  );
}

const NONE_OF_KIND = "No event of this kind";

interface KindChoiceProps {
  readonly kinds: Kinds;
  readonly onKinds: (kinds: Kinds) => void;
}

const KindChoice = ({ kinds, onKinds }: KindChoiceProps) => (
  <Segments legend="Which events" options={KINDS} value={kinds} onChange={onKinds} />
);

interface TokenEventsProps {
  readonly accessor: string;
  /** The events of the token, not filtered by kind. */
  readonly pages: EventPages;
  readonly end: TokenEnd | null;
}

type Scope = "token" | "below";

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["token", "This token"],
  ["below", "With everything below"],
];

/** The events of a token, the newest first, with its end; on request also the events of its descendants. */
export function TokenEvents({ accessor, pages, end }: TokenEventsProps) {
  const [kinds, setKinds] = useState<Kinds>("");
  const [scope, setScope] = useState<Scope>("token");
  const choice = (
    <>
      <Segments legend="Whose events" options={SCOPES} value={scope} onChange={setScope} />
      <KindChoice kinds={kinds} onKinds={setKinds} />
    </>
  );
  if (scope === "below") return <EventsBelow key={kinds} accessor={accessor} kinds={kinds} beside={choice} />;
  if (kinds !== "")
    return <EventsOfKind key={kinds} question={{ accessor, kind: kinds }} of={accessor} beside={choice} />;
  return (
    <EventsCard
      title="Timeline"
      pages={pages}
      empty="Nothing is recorded of it"
      beside={choice}
      of={accessor}
      end={end}
    />
  );
}

interface EventsBelowProps extends Pick<EventsCardProps, "beside"> {
  readonly accessor: string;
  readonly kinds: Kinds;
}

function EventsBelow({ accessor, kinds, beside }: EventsBelowProps) {
  const pages = useEventsBelow(accessor, kinds);
  const empty = kinds === "" ? "Nothing is recorded of them" : NONE_OF_KIND;
  return (
    <EventsCard title="Timeline" pages={pages} empty={empty} beside={beside} of={accessor}>
      {pages.isPart && (
        <p class="body muted">
          Of {count(MOST_TOKENS)} tokens below it; there are more. <code>grove audit {accessor} --below --limit 0</code>{" "}
          shows all.
        </p>
      )}
    </EventsCard>
  );
}

interface EventsOfKindProps extends Pick<EventsCardProps, "beside"> {
  readonly question: AuditQuestion;
  readonly of: string;
}

function EventsOfKind({ question, ...card }: EventsOfKindProps) {
  return <EventsCard {...card} title="Timeline" pages={useEvents(question)} empty={NONE_OF_KIND} />;
}

interface EventsCardProps {
  readonly title: string;
  readonly pages: ShownEvents;
  readonly empty: string;
  readonly beside?: ComponentChildren;
  /** The token of the timeline, with its end. */
  readonly of?: string;
  readonly end?: TokenEnd | null;
  /** Content above the events. */
  readonly children?: ComponentChildren;
}

/** Loaded events, with a button that loads earlier ones. */
export function EventsCard({ title, pages, empty, beside, of = "", end = null, children }: EventsCardProps) {
  const { first, events, hasMore, problem, keptDays, more } = pages;
  const jobs = useJobs(events);
  const itemOf = (event: AuditEvent) => <EventItem key={keyOf(event)} event={event} of={of} jobs={jobs} />;
  const ended = end && placeOfEnd(events, of, end, hasMore);
  const isEmpty = events.length === 0 && ended === null && !hasMore;
  return (
    <Card
      title={title}
      of={first}
      beside={
        <div class="row">
          {first.value && (
            <span class="muted number" aria-live="polite">
              {countText(events.length + (ended === null ? 0 : 1), hasMore)}
            </span>
          )}
          {beside}
        </div>
      }
    >
      {children}
      {first.value && isEmpty && (
        <Empty title={empty}>
          <p>{keptText(keptDays)}</p>
        </Empty>
      )}
      {first.value && !isEmpty && (
        <ol class="timeline" aria-label={title}>
          {events.slice(0, ended ?? events.length).map(itemOf)}
          {end && ended !== null && <EndItem end={end} of={of} />}
          {ended !== null && events.slice(ended).map(itemOf)}
        </ol>
      )}
      {problem && (
        <div class="body">
          <ProblemNotice problem={problem} />
        </div>
      )}
      {hasMore && <MoreButton label="Show earlier events" onClick={more} />}
    </Card>
  );
}

const keyOf = ({ type, time, request_id: request = "" }: AuditEvent): string => `${type} ${time} ${request}`;

interface EventItemProps {
  readonly event: AuditEvent;
  readonly of: string;
  readonly jobs: RevocationJobs["jobs"];
}

function EventItem({ event, of, jobs }: EventItemProps) {
  const { time, client_address: address, request_id: request, via } = event;
  return (
    <li>
      <EventKindTag event={event} of={of} />
      <div>
        <p>
          <EventText event={event} of={of} jobs={jobs} />
        </p>
        <Circumstances at={time} address={address} isCall={via === "rpc"} request={request} />
      </div>
    </li>
  );
}

/** The end of a token without an event of its own: it expired, or ended with another token. */
function EndItem({
  end: { at, how, by, cause, request_id: request },
  of,
}: {
  readonly end: TokenEnd;
  readonly of: string;
}) {
  return (
    <li>
      <span class="tag bad">ended</span>
      <div>
        <p>
          {how}
          {cause !== of && (
            <>
              , with <ParentLink parent={cause} />
            </>
          )}
          {by && (
            <>
              , by <AskedBy by={by} />
            </>
          )}
        </p>
        <Circumstances at={at} request={request} />
      </div>
    </li>
  );
}
