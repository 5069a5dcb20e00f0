import type { AuditEvents, AuthMounts, Explanation } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { ExplanationNotice } from "../policies/explanation-notice.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, useLoad } from "../ui/index.ts";
import { EndedSince } from "./ended-since.tsx";
import type { AuditEvent } from "./event.ts";
import { tokenOfHash } from "./event-kind.ts";
import { isLogin, whyOf } from "./explain-request.ts";
import { TokenLink } from "./links.tsx";
import { LoginText } from "./login-text.tsx";
import { readEvents } from "./read-events.ts";

/** Why a request was refused: what the policies of its token grant now, or why that is not known. */
export function WhyRefused({ event }: { readonly event: AuditEvent }) {
  const { api } = useSession();
  const { ask, because } = whyOf(event);
  const explained = useLoad(JSON.stringify(ask), async () => {
    if (ask === null) return done(null);
    return api.ask<Explanation>("sys/explain/access", ask);
  });
  return (
    <Card title="Why it was refused" of={explained} body>
      {isLogin(event) && <LoginWords event={event} />}
      {because !== "" &&
        (event.auth || isLogin(event) ? <p>{because}</p> : <EndedToken event={event} because={because} />)}
      {because !== "" && isLogin(event) && <LoginLinks event={event} />}
      {explained.value && hasEnded(explained.value) && <EndedSince event={event} />}
      {explained.value && !hasEnded(explained.value) && (
        <>
          <p class="muted">What the policies of the token say of it now:</p>
          <ExplanationNotice explanation={explained.value} />
        </>
      )}
    </Card>
  );
}

/** Most events of an address that are searched for the token of a request. */
const LOOKED_THROUGH = 500;

interface EndedTokenProps {
  readonly event: AuditEvent;
  /** The text when the token is not found. */
  readonly because: string;
}

/**
 * The token of a request that was not valid any more. An event from before the token's end, from the same address, names it.
 */
function EndedToken({ event, because }: EndedTokenProps) {
  const { api } = useSession();
  const { token_hash: hash = "", client_address: address, time, status } = event;
  const isAsked = hash !== "" && typeof address === "string" && status === 403;
  const before = useLoad(`${hash} ${time}`, () =>
    isAsked ? readEvents(api, { address, until: time, limit: LOOKED_THROUGH }) : noEvents(),
  );
  const token = tokenOfHash(before.value?.events ?? [], hash);
  if (!token) return <p>{because}</p>;
  return (
    <p>
      Its token had ended: it was <TokenLink accessor={token.accessor} name={token.display_name} />, whose page says
      when, how and by whom.
    </p>
  );
}

const noEvents = async () => done<AuditEvents>({ events: [], next: "", kept_days: 0 });

/** True when the request would be refused now because of the token, not its policies. */
const hasEnded = ({ reason }: Explanation): boolean => reason.startsWith("token_");

/** The login in words, with the type of its method where the caller may read that. */
function LoginWords({ event }: { readonly event: AuditEvent }) {
  const { api } = useSession();
  const method = (event.mount ?? "").replace(/^auth\//, "");
  const mounts = useLoad("mounts", () => api.read<AuthMounts>("sys/auth"));
  return (
    <p>
      It was a login <LoginText login={event} type={mounts.value?.[method]?.type} />.
    </p>
  );
}

function LoginLinks({ event: { mount = "" } }: { readonly event: AuditEvent }) {
  const method = mount.replace(/^auth\/|\/$/g, "");
  return (
    <p>
      <a class="button" href={href(["methods", method], { part: "refused-logins" })}>
        Refused logins of {method}
      </a>
    </p>
  );
}
