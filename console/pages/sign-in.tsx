import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../result.ts";
import type { SessionState, SignInWith } from "../session.ts";
import { Field, Segments } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";

const KINDS: readonly (readonly [SignInWith, string])[] = [
  ["token", "Token"],
  ["wrapping token", "Wrapping token"],
];

export function SignIn({ state }: { readonly state: SessionState }) {
  const [kind, setKind] = useState<SignInWith>("token");
  const [token, setToken] = useState("");
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const input = useRef<HTMLInputElement>(null);
  // After the end of a session too, when the browser minds no autofocus.
  useEffect(() => input.current?.focus(), []);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const answer = await state.signIn(token.trim(), kind, keep);
    if (answer.ok) return;
    setBusy(false);
    setProblem(answer.problem);
  };

  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <form onSubmit={submit}>
        <h1 class="brand">
          <Icon name="forest" size={26} />
          Grove
        </h1>
        {state.ended !== "" && !problem && <Notice tone="warn" title={state.ended} />}
        <div class="card">
          <Segments legend="Sign in with" options={KINDS} value={kind} onChange={(next) => setKind(next)} />
          <Field
            label={kind === "token" ? "Token" : "Wrapping token"}
            hint={
              kind === "token"
                ? "Your token, or the root token that npm run dev prints."
                : "It is unwrapped, and you are signed in with the token inside. A wrapping token works once."
            }
          >
            <input
              type="password"
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
              required
              ref={input}
            />
          </Field>
          <label class="check">
            <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
            Stay signed in until this tab is closed
          </label>
          {problem && (
            <div>
              {problem.status === 403 || problem.status === 400 ? (
                <Notice tone="bad" title={`This ${kind} is not valid here.`}>
                  It may have expired, been used up or been revoked, or its policies let it do nothing, not even look
                  itself up.
                </Notice>
              ) : (
                <ProblemNotice problem={problem} />
              )}
            </div>
          )}
          <button type="submit" class="button primary full" aria-disabled={busy}>
            {busy ? "Signing in…" : "Sign in"}
          </button>
        </div>
        <p class="small muted">The token stays in the memory of this page, unless you choose to stay signed in.</p>
      </form>
    </main>
  );
}
