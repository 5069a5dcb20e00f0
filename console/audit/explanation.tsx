import type { AuthMounts, Explanation } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { ExplanationNotice } from "../policies/explanation.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, useLoad } from "../ui/index.ts";
import { EndedSince } from "./ended-since.tsx";
import type { AuditEvent } from "./event.ts";
import { isLogin, whyOf } from "./explainable.ts";
import { LoginText } from "./login-text.tsx";

/** Why a request was refused: what the policies of its token say of it now, or why they are not asked. */
export function WhyRefused({ event }: { readonly event: AuditEvent }) {
  const { api } = useSession();
  const { ask, because } = whyOf(event);
  const explained = useLoad(JSON.stringify(ask), async () => {
    if (ask === null) return done(null);
    const answer = await api.call<Explanation>("sys/explain/access", { body: ask });
    return answer.ok ? done(answer.value.data) : answer;
  });
  return (
    <Card title="Why it was refused" of={explained} body>
      {isLogin(event) && <LoginWords event={event} />}
      {because !== "" && <p>{because}</p>}
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

/** True when the token, not its policies, is why the request would be refused now. */
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
