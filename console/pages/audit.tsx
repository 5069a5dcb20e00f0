import { useState } from "preact/hooks";
import { requestsBeginning } from "../audit/read-events.ts";
import { beginningText, idIn, isAddress, isPartOfId, isRequestId, lookedForText } from "../audit/request-id.ts";
import { Timeline } from "../audit/timeline.tsx";
import { UnknownRequest } from "../audit/unknown-request.tsx";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { refusalOfParts, TOKEN_TYPED } from "../search/secret-in-address.ts";
import { hasToken } from "../secret-detection.ts";
import { useSession } from "../session.ts";
import { Field, PageHead, TextInput, useTried } from "../ui/index.ts";

const placeOf = (text: string): string => href(["audit"], isAddress(text) ? { address: text } : { path: text });

function titleOf(address: string, path: string, accessor: string): string {
  if (accessor !== "") return `Events of ${accessor}`;
  if (address !== "") return `Events from ${address}`;
  return path !== "" ? `Events at ${path}…` : "Events";
}

/** All events, or those of an address, an accessor or a path prefix, which are parameters of the page. */
export function AuditPage({ query }: { readonly query: URLSearchParams }) {
  const address = query.get("address") ?? "";
  const path = query.get("path") ?? "";
  const accessor = query.get("accessor") ?? "";
  const [typed, setTyped] = useState(address || path);
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
  const isNothing = text === "" && address === "" && path === "" && accessor === "";
  const missing = isNothing ? "Type an id, an address or the beginning of a path" : "";
  const submit = async (event: Event): Promise<void> => {
    if (!attempt(event, !isToken && missing === "")) return;
    if (isPartOfId(text)) return findBeginning();
    const found = await refusalOfParts(session, [text]);
    setRefusal(found);
    if (found !== "") return;
    if (isRequestId(text)) setAsked(text.toLowerCase());
    else go(placeOf(text));
  };
  const findBeginning = async (): Promise<void> => {
    const answer = await requestsBeginning(session, text);
    if (!answer.ok) return setRefusal(answer.problem.messages.join(" "));
    const [id] = answer.value;
    if (id !== undefined && answer.value.length === 1) return go(href(["requests", id]));
    setRefusal(beginningText(answer.value.length));
  };
  const title = titleOf(address, path, accessor);
  return (
    <>
      <PageHead
        title="Audit log"
        text="Changes, logins and refusals. The page of a token has its own, with its reads."
      />
      <div class="stack">
        <form class="find-events" aria-label="Find events" onSubmit={submit}>
          <Field
            label="Request id, address or path"
            hint={text === (address || path) ? lookedForText(address, path) : ""}
            wrong={isToken ? TOKEN_TYPED : refusal || (tried ? missing : "")}
          >
            <TextInput value={typed} onText={type} placeholder="The id that a refused client was given" />
          </Field>
          <button type="submit" class="button primary">
            Find
          </button>
        </form>
        {asked !== "" && <UnknownRequest key={asked} id={asked} />}
        <Timeline title={title} question={{ address, path_prefix: path, accessor }} empty="No event" />
      </div>
    </>
  );
}
