import { useState } from "preact/hooks";
import { needsOf } from "../needed-capabilities.ts";
import type { Problem } from "../result.ts";
import type { Session } from "../session.ts";
import { AllowedButton, Dialog, Icon, SendProblem } from "../ui/index.ts";

interface SignOutProps {
  readonly session: Session;
  readonly onDone: () => void;
}

/** The sign-out. It does not revoke a token that others may have, and says so before. */
export function SignOut({ session: { isOwn, signOut }, onDone }: SignOutProps) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const leave = async (revoke: boolean): Promise<void> => {
    const answer = await signOut({ revoke });
    if (answer.ok) onDone();
    else setProblem(answer.problem);
  };
  return (
    <>
      <button
        type="button"
        class="button"
        aria-label="Sign out"
        title="Sign out"
        onClick={() => (isOwn ? leave(false) : setAsking(true))}
      >
        <Icon name="leave" />
      </button>
      {asking && (
        <Dialog title="Sign out" onClose={() => setAsking(false)}>
          <p>This page forgets the token. It was given to you, and stays valid until it ends or is revoked.</p>
          <SendProblem problem={problem} />
          <div class="actions">
            <AllowedButton look="button danger" needs={needsOf("auth/token/revoke-self")} onClick={() => leave(true)}>
              Revoke it too
            </AllowedButton>
            <button type="button" class="button primary" onClick={() => leave(false)}>
              Sign out only
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
