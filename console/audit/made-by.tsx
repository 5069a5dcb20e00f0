import { Card } from "../ui/index.ts";
import { Circumstances } from "./circumstances.tsx";
import type { AuditEvent, MadeToken } from "./event.ts";
import { TokenLink } from "./links.tsx";
import { LoginText } from "./login-text.tsx";

interface MadeByProps {
  /** How the token was made, how its maker was made, and so on. */
  readonly makers: readonly MadeToken[];
  /** Events that were loaded. They name makers whose own record is gone. */
  readonly events: readonly AuditEvent[];
}

/** Who made a token, also an orphan, and who made its maker. */
export function MadeBy({ makers, events }: MadeByProps) {
  return (
    <Card title="Made by">
      {makers.length === 0 && (
        <p class="body muted">There is no record of it: it was made before the events that are kept.</p>
      )}
      {makers.length > 0 && (
        <ol class="lineage">
          {makers.map((made, at) => {
            const { accessor, request_id: request, time, client_address: address } = made;
            const name = events.find((event) => event.request_id === request)?.auth?.display_name;
            return (
              <li key={accessor} class="maker" style={{ "--depth": String(at) }}>
                <p>
                  <Maker made={made} name={makers[at + 1]?.display_name || name} />
                </p>
                <Circumstances at={time} address={address} request={request} />
              </li>
            );
          })}
        </ol>
      )}
    </Card>
  );
}

/** The token or the login that made a token, and where. */
function Maker({ made, name }: { readonly made: MadeToken; readonly name: string | undefined }) {
  const { made_by: maker, mount, path } = made;
  if (maker === null && mount !== undefined) {
    return (
      <>
        a login <LoginText login={made} />
      </>
    );
  }
  return (
    <>
      {maker === null ? "a request without a token" : <TokenLink accessor={maker} name={name} />} at{" "}
      <code class="break">{path}</code>
    </>
  );
}
