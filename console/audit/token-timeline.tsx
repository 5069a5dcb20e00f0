import type { TokenEnd } from "../tokens/end.ts";
import { Card, ProblemNotice } from "../ui/index.ts";
import { hashOfCaller } from "./event-kind.ts";
import { MadeBelow } from "./made-below.tsx";
import { MadeBy } from "./made-by.tsx";
import { EventsCard, TokenEvents } from "./timeline.tsx";
import { UsesCard } from "./token-uses.tsx";
import { type EventPages, useEvents } from "./use-events.ts";

interface StoryProps {
  readonly accessor: string;
  /** The events of the token. */
  readonly pages: EventPages;
}

interface TokenTimelineProps extends StoryProps {
  /** How the token ended; null while it is alive, or when that is not known. */
  readonly end: TokenEnd | null;
}

/** The events of a token, alive or ended, and the attempts to use it after its end. */
export function TokenTimeline({ accessor, pages, end }: TokenTimelineProps) {
  const { problem, reload } = pages.first;
  if (problem) {
    return (
      <Card title="Timeline" body>
        {problem.status === STORE_IS_OFF ? (
          <p class="muted">{problem.messages.join(" ")}</p>
        ) : (
          <ProblemNotice problem={problem} onRetry={reload} />
        )}
      </Card>
    );
  }
  const hash = end === null ? "" : hashOfCaller(pages.events, accessor);
  return (
    <>
      {hash !== "" && <Attempts hash={hash} />}
      {end !== null && hash === "" && (
        <p class="muted small">
          What was tried with it after its end is found by its text alone: no event here is a request of its own.
        </p>
      )}
      <TokenEvents accessor={accessor} pages={pages} end={end} />
    </>
  );
}

/** Status of an answer while the deployment stores no events. */
const STORE_IS_OFF = 400;

/** Attempts to use the token after its end. Renders nothing without any. */
function Attempts({ hash }: { readonly hash: string }) {
  const pages = useEvents({ accessor: hash });
  if (pages.events.length === 0) return null;
  return <EventsCard title="Tried with it after its end" pages={pages} empty="" />;
}

/** Who made a token and its makers, from where it was used, and its descendants. */
export function TokenOrigin({ accessor, pages: { first, events } }: StoryProps) {
  if (!first.value) return null;
  const { makers = [], uses = [], more_uses: more = false } = first.value;
  return (
    <>
      <MadeBy makers={makers} events={events} />
      <UsesCard uses={uses} more={more} />
      <MadeBelow accessor={accessor} />
    </>
  );
}
