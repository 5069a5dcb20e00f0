import { useState } from "preact/hooks";
import { requestsBeginning } from "../audit/find-requests.ts";
import { actorNamed } from "../audit/named-actor.ts";
import { requestInError } from "../audit/pasted-error.ts";
import { beginningText, idIn, isPartOfId, isRequestId, lookedForText } from "../audit/request-id.ts";
import { ChosenTimeline, kindsOf } from "../audit/timeline.tsx";
import { mayBeName, placeOf, unaskable } from "../audit/typed-question.ts";
import { UnknownRequest } from "../audit/unknown-request.tsx";
import { localTime, queryTime, UNFINISHED, WHOLE_TIME, ZONE } from "../format.ts";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { credentialWithEvents } from "../search/credential-events.ts";
import { endedNamed } from "../search/find-tokens.ts";
import { refusalOfParts, refusalOfPath, TOKEN_TYPED } from "../search/secret-in-address.ts";
import { hasToken } from "../secret-detection.ts";
import { useSession } from "../session.ts";
import { Field, PageHead, TextInput, TimeInput, useTried } from "../ui/index.ts";
import { useEntityNames, useTokenName } from "../use-names.ts";

/** The question of the page, by its parameters. */
function questionOf(query: URLSearchParams) {
  const of = (name: string): string => query.get(name) ?? "";
  return {
    ...{ address: of("address"), path_prefix: of("path"), accessor: of("accessor"), actor: of("actor") },
    ...{ entity_id: of("entity_id"), since: of("since"), until: of("until") },
  };
}

type Question = ReturnType<typeof questionOf>;

/** @param name of the entity, or of the token whose events are shown; "" when it can't be read */
function titleOf({ address, path_prefix: path, accessor, actor, entity_id: entity }: Question, name: string): string {
  if (actor !== "") return `Events by ${name || actor}`;
  if (entity !== "") return `Events of the entity ${name || entity}`;
  if (accessor !== "") return `Events of ${accessor}`;
  if (address !== "") return `Events from ${address}`;
  return path !== "" ? `Events at ${path}…` : "Events";
}

/** All events, or those of an address, an accessor, an actor, an entity, a path prefix or a time: parameters of the page. */
export function AuditPage({ query }: { readonly query: URLSearchParams }) {
  const question = questionOf(query);
  const { address, path_prefix: path, accessor, actor, entity_id: entity, since, until } = question;
  const [from, setFrom] = useState(localTime(since));
  const [to, setTo] = useState(localTime(until));
  const times = { since: queryTime(from), until: queryTime(to) };
  const isUnfinished = [from, to].includes(UNFINISHED);
  const isReversed = times.since !== "" && times.until !== "" && Date.parse(times.until) <= Date.parse(times.since);
  const entityName = useEntityNames(entity === "" ? [] : [entity]).get(entity);
  const tokenName = useTokenName(actor);
  const name = entityName ?? tokenName;
  const shown = address || path || actor || accessor || entity;
  const [typed, setTyped] = useState(shown);
  const text = idIn(typed.trim());
  const isToken = hasToken(text);
  const [tried, attempt] = useTried();
  const session = useSession();
  const [refusal, setRefusal] = useState("");
  /** The whole id that is looked for. */
  const [asked, setAsked] = useState("");
  const type = (next: string): void => {
    setTyped(next);
    setRefusal("");
    setAsked("");
  };
  // An empty text leads from filtered events back to all.
  const isNothing = text === "" && query.size === 0 && times.since === "" && times.until === "";
  const missing = isNothing ? "Type an id, an address, a name or the beginning of a path" : unaskable(text);
  const submit = async (event: Event): Promise<void> => {
    if (!attempt(event, !isToken && missing === "" && !isUnfinished && !isReversed)) return;
    // The text is what the page shows already: only the times are new.
    if (shown !== "" && typed === shown) return go(href(["audit"], { ...Object.fromEntries(query), ...times }));
    if (isPartOfId(text)) return findBeginning();
    const error = requestInError(text);
    const found = await (error ? refusalOfPath(session, error.path) : refusalOfParts(session, [text]));
    setRefusal(found);
    if (found !== "") return;
    const credential = await credentialWithEvents(session, text);
    if (credential.length > 0) return go(placeOf(text, times, true));
    if (isRequestId(text)) return setAsked(text.toLowerCase());
    const named =
      text !== "" && mayBeName(text)
        ? await actorNamed(session.api, text, times, () => endedNamed(session, text))
        : null;
    if (named && named.problem !== "") return setRefusal(named.problem);
    go(named?.href ?? placeOf(text, times));
  };
  const findBeginning = async (): Promise<void> => {
    const answer = await requestsBeginning(session, text);
    if (!answer.ok) return setRefusal(answer.problem.messages.join(" "));
    const [id] = answer.value;
    if (id !== undefined && answer.value.length === 1) return go(href(["requests", id]));
    setRefusal(beginningText(answer.value.length));
  };
  return (
    <>
      <PageHead
        title="Audit log"
        text="Changes, logins and refusals. The page of a token has its own, with its reads."
      />
      <div class="stack">
        <form class="find-events" aria-label="Find events" onSubmit={submit}>
          <Field
            label="Request id, address, name, accessor or path"
            hint={text === shown ? lookedForText(address, path) : ""}
            wrong={isToken ? TOKEN_TYPED : refusal || (tried ? missing : "")}
          >
            <TextInput value={typed} onText={type} placeholder="The id that a refused client was given" />
          </Field>
          <Field label={`From, ${ZONE}`} wrong={from === UNFINISHED ? WHOLE_TIME : ""}>
            <TimeInput value={from} onTime={setFrom} />
          </Field>
          <Field
            label={`To, ${ZONE}`}
            wrong={to === UNFINISHED ? WHOLE_TIME : isReversed ? "Not after From: no event is in between" : ""}
          >
            <TimeInput value={to} onTime={setTo} />
          </Field>
          <button type="submit" class="button primary">
            Find
          </button>
        </form>
        {asked !== "" && <UnknownRequest key={asked} id={asked} />}
        <ChosenTimeline
          title={titleOf(question, name)}
          question={question}
          empty="No event"
          kinds={kindsOf(query.get("kind") ?? "")}
          onKinds={(kind) => go(href(["audit"], { ...Object.fromEntries(query), kind }))}
        />
      </div>
    </>
  );
}
