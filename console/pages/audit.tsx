import { useState } from "preact/hooks";
import { isAddress, isRequestId, partOfIdText } from "../audit/question.ts";
import { Timeline } from "../audit/timeline.tsx";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { hasToken } from "../secret-like.ts";
import { Field, PageHead, TextInput, useTried } from "../ui/index.ts";

function placeOf(text: string): string {
  if (isRequestId(text)) return href(["requests", text.toLowerCase()]);
  return href(["audit"], isAddress(text) ? { address: text } : { path: text });
}

/** Events of all, or of an address or the beginning of a path, which are in the address of the page. */
export function AuditPage({ query }: { readonly query: URLSearchParams }) {
  const address = query.get("address") ?? "";
  const path = query.get("path") ?? "";
  const [typed, setTyped] = useState(address || path);
  const text = typed.trim();
  const isToken = hasToken(text);
  const [tried, attempt] = useTried();
  const part = partOfIdText(text);
  const submit = (event: Event): void => {
    if (attempt(event, !isToken && part === "")) go(placeOf(text));
  };
  const title = address !== "" ? `Events from ${address}` : path !== "" ? `Events at ${path}…` : "Events";
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
            wrong={
              isToken
                ? "This looks like a token: the search (Ctrl K) says what it is, and leads to its page"
                : tried
                  ? part
                  : ""
            }
          >
            <TextInput value={typed} onText={setTyped} placeholder="The id that a refused client was given" />
          </Field>
          <button type="submit" class="button primary">
            Find
          </button>
        </form>
        <Timeline title={title} question={{ address, path_prefix: path }} empty="No event" />
      </div>
    </>
  );
}
