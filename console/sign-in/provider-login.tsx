import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Problem } from "../result.ts";
import { Copy } from "../ui/index.ts";
import { afterAnswer } from "./after-answer.ts";
import { type DeviceLogin, type RedirectLogin, withAnswer } from "./begin-provider-login.ts";
import type { Credential } from "./credential.ts";
import { awaitAnswer } from "./other-tab.ts";

interface ElsewhereProps<T> {
  readonly login: T;
  signIn(credential: Credential): Promise<Answer<void>>;
  onFailure(problem: Problem): void;
  onCancel(): void;
}

/** Added to the interval when the provider answers `slow_down` (ms, RFC 8628). */
const SLOWER_MS = 5000;

/** Shows the URL and the code of a device login, and polls the server until the login is done. */
export function OnDevice({ login, signIn, onFailure, onCancel }: ElsewhereProps<DeviceLogin>) {
  const { address, userCode, everyMs, credential } = login;
  const latest = useRef({ signIn, onFailure });
  latest.current = { signIn, onFailure };
  const [isAway, setIsAway] = useState(false);
  useEffect(() => {
    let wait = everyMs;
    let timer = 0;
    let isOver = false;
    const ask = async (): Promise<void> => {
      const answer = await latest.current.signIn(credential);
      if (isOver || answer.ok) return;
      const next = afterAnswer(answer.problem);
      if (next === "end") return latest.current.onFailure(answer.problem);
      setIsAway(next === "away");
      if (next === "slower") wait += SLOWER_MS;
      timer = window.setTimeout(ask, wait);
    };
    timer = window.setTimeout(ask, wait);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [everyMs, credential]);
  return (
    <Elsewhere address={address} isAway={isAway} onCancel={onCancel}>
      <p>Here or on another device:</p>
      <Copy value={address} label="Address" />
      {userCode !== "" && (
        <>
          <p>With this code. Go on only where the page shows the same one.</p>
          <Copy value={userCode} label="Code" />
        </>
      )}
    </Elsewhere>
  );
}

/** Waits for a login in another tab, which keeps this page open. */
export function InOtherTab({ login, signIn, onFailure, onCancel }: ElsewhereProps<RedirectLogin>) {
  const latest = useRef({ signIn, onFailure });
  latest.current = { signIn, onFailure };
  useEffect(
    () =>
      awaitAnswer(login.begun.state, async (given) => {
        const answer = await latest.current.signIn(withAnswer(login.begun, given));
        if (!answer.ok) latest.current.onFailure(answer.problem);
      }),
    [login],
  );
  return (
    <Elsewhere address={login.address} onCancel={onCancel}>
      <p>It opens in another tab, and this page stays as it is.</p>
    </Elsewhere>
  );
}

interface ElsewhereFrameProps {
  readonly address: string;
  /** True when the server did not answer lately. */
  readonly isAway?: boolean;
  onCancel(): void;
  readonly children: ComponentChildren;
}

function Elsewhere({ address, isAway = false, onCancel, children }: ElsewhereFrameProps) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  return (
    <div class="stack">
      <a ref={link} class="button primary full" href={address} target="_blank" rel="noopener noreferrer">
        Sign in at {new URL(address).host}
      </a>
      {children}
      <p class="muted" role="status">
        {isAway ? "The server can't be reached. It is asked again." : "Waiting until you have signed in there…"}
      </p>
      <button type="button" class="button full" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}
