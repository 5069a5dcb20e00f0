import { Card, Copy, type Loaded, Loading } from "../ui/index.ts";
import { useEarlyLooks } from "./use-early-looks.ts";

interface MissingEventProps {
  /** Id of the request. */
  readonly id: string;
  /** The answer of the store. */
  readonly found: Loaded<unknown>;
  readonly isFound: boolean;
}

/** Shown until the event of a request is found. Looks for it again, as it may not be stored yet. */
export function MissingEvent({ id, found, isFound }: MissingEventProps) {
  const isEarly = useEarlyLooks(found, isFound);
  const isOff = found.problem?.status === 400;
  if (isFound) return null;
  return (
    <>
      {!isOff && <Loading of={found} />}
      {(found.value || isOff) && (
        <NotStored id={id} why={found.problem?.messages.join(" ") ?? ""} isEarly={isEarly} onAgain={found.reload} />
      )}
    </>
  );
}

interface NotStoredProps {
  readonly id: string;
  /** The message of a server whose store is off; "" when it has no event with the id. */
  readonly why: string;
  /** True while the event may still come. */
  readonly isEarly: boolean;
  readonly onAgain: () => void;
}

/** Why the store has no event of a request, and where its line is. */
function NotStored({ id, why, isEarly, onAgain }: NotStoredProps) {
  return (
    <Card
      title={why === "" ? "The store has no event with this id" : "Nothing is stored"}
      beside={
        <button type="button" class="button slim" onClick={onAgain}>
          Look again
        </button>
      }
      body
    >
      <p aria-live="polite">{isEarly && "A refusal is stored within ten seconds: this page looks for it…"}</p>
      {why === "" ? (
        <ul class="reasons">
          <li>A read that succeeded is counted, and has no event. The page of its token has its reads.</li>
          <li>Events are kept for 30 days, unless AUDIT_DAYS says otherwise.</li>
          <li>100 refusals of a token are kept in an hour, and of a network without a valid token.</li>
          <li>A gateway that refuses a request itself stores nothing.</li>
        </ul>
      ) : (
        <p>{why}</p>
      )}
      <p>
        The log has a line of every request, with its status and error. It is the standard output of the server, or what
        collects that; on Cloudflare, the log of the Worker:
      </p>
      <Copy
        value={`grep -hF '"request_id":"${id}"' audit.log | jq '{time, operation, path, status, error, auth}'`}
        label="In the log"
      />
      <p>With the path and the token’s accessor, “What may it do?” on the page of the token says which rule decides.</p>
    </Card>
  );
}
