import { useState } from "preact/hooks";
import { exact } from "../format.ts";
import { href } from "../href.ts";
import { isEnding } from "../renewal.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Dialog, Icon, SendProblem, useNow } from "../ui/index.ts";
import type { Credential } from "./credential.ts";
import { SignInForm } from "./form.tsx";

/** Notices about the session, above every page. */
export function SessionNotices() {
  const { self } = useSession();
  return (
    <>
      {self.policies.includes("root") && <RootNotice />}
      <EndingNotice />
    </>
  );
}

function RootNotice() {
  return (
    <aside class="session-notice" aria-label="Root token">
      <Icon name="info" />
      <span>
        A root token may do everything, and the audit log cannot tell who uses it. Let people{" "}
        <a href={href(["methods"], { setup: "people" })}>sign in with a method</a>, then revoke it.
      </span>
    </aside>
  );
}

/** Announces the end of the session, with a renewal or a new sign-in. */
function EndingNotice() {
  const session = useSession();
  const now = useNow(1000);
  const [isOpen, setIsOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { ends, canRenew } = session.lifetime;
  const signIn = async (credential: Credential): Promise<Answer<void>> => {
    const answer = await session.signInAgain(credential);
    if (answer.ok) setIsOpen(false);
    return answer.ok ? done(undefined) : answer;
  };
  const onRenew = async (): Promise<void> => {
    const answer = await session.renew();
    setProblem(answer.ok ? null : answer.problem);
  };
  if (!isOpen && (ends === null || !isEnding(session.lifetime, now))) return null;
  return (
    <>
      <aside class="session-notice ending" aria-label="End of the session">
        <Icon name="clock" />
        {/* A fixed time: a screen reader would announce each step of a countdown. */}
        <span role="status">
          Your session ends at {exact(new Date(ends ?? now).toISOString())}.{canRenew || " It can't be renewed."}
        </span>
        {canRenew ? (
          <button type="button" class="button slim" onClick={onRenew}>
            Renew
          </button>
        ) : (
          <button type="button" class="button slim" onClick={() => setIsOpen(true)}>
            Sign in again…
          </button>
        )}
      </aside>
      <SendProblem problem={problem} />
      {isOpen && (
        <Dialog title="Sign in again" onClose={() => setIsOpen(false)}>
          <p class="muted">The page stays as it is for the same user.</p>
          <SignInForm signIn={signIn} keepsPage />
        </Dialog>
      )}
    </>
  );
}
