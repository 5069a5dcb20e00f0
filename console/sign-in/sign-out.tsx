import { useEffect, useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { needsOf } from "../needed-capabilities.ts";
import { Confirm } from "../records/confirm.tsx";
import type { Problem } from "../result.ts";
import { mayDo, type Session } from "../session.ts";
import type { Amount } from "../tokens/amount.ts";
import { readToken } from "../tokens/token-api.ts";
import { AllowedButton, Dialog, Icon, SendProblem } from "../ui/index.ts";
import { revocationTexts } from "./revoke-too.ts";

interface SignOutProps {
  readonly session: Session;
  readonly onDone: () => void;
}

/** The sign-out. It does not revoke a token that others may have, and warns of it before. */
export function SignOut({ session, onDone }: SignOutProps) {
  const { isOwn, signOut } = session;
  const [asking, setAsking] = useState<"" | "sign-out" | "revocation">("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const close = (): void => {
    setAsking("");
    setProblem(null);
  };
  const leave = async (): Promise<void> => {
    const answer = await signOut({ revoke: false });
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
        onClick={() => (isOwn ? leave() : setAsking("sign-out"))}
      >
        <Icon name="leave" />
      </button>
      {asking === "sign-out" && (
        <Dialog title="Sign out" onClose={close}>
          <p>This page forgets the token. It was given to you, and stays valid until it ends or is revoked.</p>
          <SendProblem problem={problem} />
          <div class="actions">
            <button type="button" class="button" onClick={close}>
              Cancel
            </button>
            <AllowedButton
              look="button danger"
              needs={needsOf("auth/token/revoke-self")}
              onClick={() => setAsking("revocation")}
            >
              Revoke it too…
            </AllowedButton>
            <button type="button" class="button primary" onClick={leave}>
              Sign out only
            </button>
          </div>
        </Dialog>
      )}
      {asking === "revocation" && <RevokeToo session={session} onDone={onDone} onClose={close} />}
    </>
  );
}

/** Asks for the name of the token before it is revoked at the sign-out. */
export function RevokeToo({ session, onDone, onClose }: SignOutProps & { readonly onClose: () => void }) {
  const { api, self, signOut } = session;
  const [below, setBelow] = useState<Amount | null>(null);
  const mayCount = self.accessor !== "" && mayDo(session, ASKED_PATHS.tokens, "read", "sudo");
  useEffect(() => {
    if (!mayCount) return;
    let isShown = true;
    readToken(api, self.accessor).then((answer) => {
      if (isShown && answer.ok) setBelow(answer.value.descendants);
    });
    return () => {
      isShown = false;
    };
  }, [api, self.accessor, mayCount]);
  const name = self.display_name || "token";
  return (
    <Confirm
      title={`Sign out and revoke ${name}`}
      typing={name}
      action="Revoke it"
      send={() => signOut({ revoke: true })}
      onDone={onDone}
      onClose={onClose}
    >
      {revocationTexts(self, below).map((text) => (
        <p key={text}>{text}</p>
      ))}
    </Confirm>
  );
}
