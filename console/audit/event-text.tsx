import type { RevocationJobs } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { EntityLink } from "../tokens/links.tsx";
import { changedThing } from "./changed-thing.ts";
import type { AuditEvent } from "./event.ts";
import { aboutOf, callerOf, deedOf, type EventKind, eventKindOf, isWrappedIn, madeOf } from "./event-kind.ts";
import { isLogin } from "./explain-request.ts";
import { TokenLink } from "./links.tsx";
import { LoginText } from "./login-text.tsx";
import { endsAllOfPath, revocationOf } from "./revocation-event.ts";
import { RevocationText } from "./revocation-text.tsx";

const TONES: Readonly<Record<EventKind, string>> = {
  made: "tag good",
  login: "tag good",
  "made another": "tag good",
  renewed: "tag",
  ended: "tag bad",
  counted: "tag",
  asked: "tag",
  changed: "tag",
  refused: "tag warn",
  failed: "tag bad",
  noted: "tag",
};
const WORDS: Readonly<Partial<Record<EventKind, string>>> = { "made another": "made" };

interface EventProps {
  readonly event: AuditEvent;
  /** Accessor of the token of the timeline; "" for another timeline. */
  readonly of: string;
}

/** The kind of an event, in one word. */
export function EventKindTag({ event, of }: EventProps) {
  const what = eventKindOf(event, of);
  return <span class={TONES[what]}>{WORDS[what] ?? what}</span>;
}

interface EventTextProps extends EventProps {
  /** Jobs of the revocations among the events that are shown. */
  readonly jobs: RevocationJobs["jobs"];
}

/** An event in a sentence. */
export function EventText({ event, of, jobs }: EventTextProps) {
  const { error, status, count, type } = event;
  switch (eventKindOf(event, of)) {
    case "made":
      return callerOf(event) === "" ? (
        <>
          Made by a login <LoginText login={event} />
          <Inside event={event} of={of} />
        </>
      ) : (
        <>
          Made at <Place event={event} /> <By event={event} of={of} />
          <Inside event={event} of={of} />
        </>
      );
    case "login":
      return (
        <>
          A login <LoginText login={event} /> made <Made event={event} />
        </>
      );
    case "made another":
      return (
        <>
          Made <Made event={event} /> at <Place event={event} /> <By event={event} of={of} />
        </>
      );
    case "renewed":
      return (
        <>
          Renewed <About event={event} of={of} />
          <By event={event} of={of} />
        </>
      );
    case "counted":
    case "ended": {
      const revocation = revocationOf(event);
      if (revocation) {
        return (
          <>
            <RevocationText noted={revocation} jobs={jobs} /> <By event={event} of={of} />
          </>
        );
      }
      return (
        <>
          Revoked <About event={event} of={of} />
          <By event={event} of={of} />
        </>
      );
    }
    case "asked":
      return <Asked event={event} of={of} />;
    case "changed":
      return (
        <>
          {deedOf(event) === "" ? <Changed event={event} of={of} /> : <Deed event={event} of={of} />}
          <ReceiptOfPath event={event} />
        </>
      );
    case "refused":
    case "failed":
      return (
        <>
          <Asked event={event} of={of} />
          <span class="small break event-error">
            {status}
            {error && `: ${error}`}
          </span>
        </>
      );
    case "noted":
      return (
        <>
          The store: {type}
          {count !== undefined && `, ${count}`}
        </>
      );
  }
}

/** The way to the receipt of a request that ended all tokens of a path. */
export function ReceiptOfPath({ event }: { readonly event: AuditEvent }) {
  const { request_id: request = "" } = event;
  if (request === "" || !endsAllOfPath(event)) return null;
  return (
    <>
      {" "}
      → <a href={href(["revocations", request])}>receipt</a>
    </>
  );
}

/** What a change did to the use of an entity. */
function Deed({ event, of }: EventProps) {
  const [id = ""] = event.target_entities ?? [];
  return (
    <>
      {deedOf(event)} the entity <EntityLink id={id} /> <By event={event} of={of} />
    </>
  );
}

/** What a change was about, or else its path. */
function Changed({ event, of }: EventProps) {
  const thing = changedThing(event);
  if (thing === null) return <Asked event={event} of={of} />;
  return (
    <>
      {thing.text} {thing.to === "" ? <code class="break">{thing.name}</code> : <a href={thing.to}>{thing.name}</a>}{" "}
      <By event={event} of={of} />
    </>
  );
}

/** Operation and path of a request, its target, and the caller. */
function Asked({ event, of }: EventProps) {
  const { operation, target_accessor: target } = event;
  if (isLogin(event))
    return (
      <>
        A login <LoginText login={event} />
      </>
    );
  return (
    <>
      {operation} <Place event={event} />
      {target !== undefined && target !== of && (
        <>
          {" "}
          of <TokenLink accessor={target} />
        </>
      )}{" "}
      <By event={event} of={of} />
    </>
  );
}

/** The path of a request. */
const Place = ({ event: { path = "" } }: Pick<EventProps, "event">) => <code class="break">{path}</code>;

function Made({ event }: Pick<EventProps, "event">) {
  return <TokenLink accessor={madeOf(event)} name={event.response?.auth?.display_name} />;
}

/** The token in a wrapping token, whose timeline this is. */
function Inside({ event, of }: Pick<EventProps, "event" | "of">) {
  if (!isWrappedIn(event, of) || madeOf(event) === "") return null;
  return (
    <>
      , around <Made event={event} />
    </>
  );
}

/** The token that was renewed or ended, unless the timeline is its own. */
function About({ event, of }: EventProps) {
  const about = aboutOf(event);
  if (about === of) return null;
  return (
    <>
      <TokenLink accessor={about} name={about === callerOf(event) ? event.auth?.display_name : undefined} />{" "}
    </>
  );
}

/** The caller, unless the timeline is its own. */
function By({ event, of }: EventProps) {
  const caller = callerOf(event);
  if (caller === "") return event.kind === "refusal" ? <>without a valid token</> : null;
  if (caller === aboutOf(event) && OF_ITSELF.has(eventKindOf(event)) && !event.revocation) return <>by itself</>;
  if (caller === of) return null;
  return (
    <>
      by <Caller event={event} />
    </>
  );
}

/** Requests that a token can also make about itself. */
const OF_ITSELF: ReadonlySet<EventKind> = new Set(["renewed", "ended"]);

function Caller({ event }: Pick<EventProps, "event">) {
  return <TokenLink accessor={callerOf(event)} name={event.auth?.display_name} />;
}
