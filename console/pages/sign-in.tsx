import { useEffect, useRef, useState } from "preact/hooks";
import type { ShownMounts } from "../../client/answers.d.ts";
import { Api } from "../api.ts";
import type { Problem } from "../result.ts";
import type { Credential, SessionState } from "../session.ts";
import { Field, Icon, Notice, ProblemNotice, Segments, TextInput, useLoad } from "../ui/index.ts";

type Kind = Credential["kind"];

const KINDS: readonly (readonly [Kind, string])[] = [
  ["token", "Token"],
  ["wrapping token", "Wrapping token"],
];
const HINTS: Readonly<Record<Kind, string>> = {
  token: "Your token, or the root token of a new installation.",
  "wrapping token": "It is unwrapped, and you are signed in with the token inside. A wrapping token works once.",
  jwt: "A token that your identity provider or CI has signed. It is exchanged for a token of Grove.",
};
/** Characters that no header, and so no token, can have. */
const STRANGE = /[^\x20-\x7e\xa0-\xff]/;

export function SignIn({ state }: { readonly state: SessionState }) {
  const [kind, setKind] = useState<Kind>("token");
  const [token, setToken] = useState("");
  const [chosen, setChosen] = useState("");
  const [role, setRole] = useState("");
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const input = useRef<HTMLInputElement>(null);
  // After the end of a session too, when the browser minds no autofocus.
  useEffect(() => input.current?.focus(), []);
  // Those that their tuning shows before sign-in.
  const mounts = useLoad("mounts", () => new Api("").read<ShownMounts>("sys/internal/ui/mounts"));
  const shown = Object.entries(mounts.value?.auth ?? {}).map(([path, mount]) => ({
    ...mount,
    path: path.slice(0, -1),
  }));
  const jwt = shown.filter(({ type }) => type === "jwt");
  const others = shown.filter(({ type }) => type !== "jwt");
  const mount = chosen || (jwt[0]?.path ?? "");

  const given = token.trim();
  const wrong = STRANGE.test(given) ? "It has a character that no token has: copy it again." : "";
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy || wrong !== "") return;
    setBusy(true);
    const answer = await state.signIn(
      kind === "jwt" ? { kind, mount, role, token: given } : { kind, token: given },
      keep,
    );
    if (answer.ok) return;
    setBusy(false);
    setProblem(answer.problem);
  };
  const isRefused = kind !== "jwt" && (problem?.status === 403 || problem?.status === 400);

  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <form onSubmit={submit}>
        <h1 class="brand">
          <Icon name="forest" size={26} />
          Grove
        </h1>
        {state.ended !== "" && !problem && <Notice tone="warn" title={state.ended} />}
        <div class="card">
          <Segments
            legend="Sign in with"
            options={jwt.length > 0 ? [...KINDS, ["jwt", "JWT"]] : KINDS}
            value={kind}
            onChange={(next) => {
              setKind(next);
              setProblem(null);
            }}
          />
          {kind === "jwt" && (
            <>
              <Field label="Auth method">
                <select value={mount} onChange={(event) => setChosen(event.currentTarget.value)}>
                  {jwt.map(({ path, description }) => (
                    <option key={path} value={path}>
                      {description ? `${path} · ${description}` : path}
                    </option>
                  ))}
                </select>
              </Field>
              <Field label="Role" hint="Empty: the usual one of the method.">
                <TextInput value={role} onText={(text) => setRole(text.trim())} />
              </Field>
            </>
          )}
          <Field
            label={kind === "token" ? "Token" : kind === "jwt" ? "JWT" : "Wrapping token"}
            hint={HINTS[kind]}
            wrong={wrong}
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
              {isRefused ? (
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
        {others.length > 0 && (
          <p class="small muted">
            Clients also log in at {others.map(({ path, type }) => `auth/${path}/ (${type})`).join(", ")}: sign in with
            the token that they get.
          </p>
        )}
        <p class="small muted">The token stays in the memory of this page, unless you choose to stay signed in.</p>
      </form>
    </main>
  );
}
