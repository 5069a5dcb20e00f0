import { useEffect, useRef, useState } from "preact/hooks";
import type { ShownMounts } from "../../client/answers.d.ts";
import { Api } from "../api.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { Field, Notice, ProblemNotice, SecretInput, Segments, useLoad } from "../ui/index.ts";
import type { Credential } from "./credential.ts";
import { MethodFields } from "./method-fields.tsx";
import {
  type ChosenMethod,
  firstMethod,
  isUsable,
  type ListedMount,
  LOGIN_FORMS,
  listedMounts,
  pathOfMethod,
} from "./ways.ts";

type Way = "method" | "token" | "wrapping token";

const WAYS: readonly (readonly [Way, string])[] = [
  ["method", "Auth method"],
  ["token", "Token"],
  ["wrapping token", "Wrapping token"],
];
const HINTS: Readonly<Record<Exclude<Way, "method">, string>> = {
  token: "Your token, or the root token of a new installation.",
  "wrapping token": "It is unwrapped, and you are signed in with the token inside. A wrapping token works once.",
};
/** Characters that no header, and so no token, can have. */
const STRANGE = /[^\x20-\x7e\xa0-\xff]/;

interface SignInFormProps {
  signIn(credential: Credential): Promise<Answer<void>>;
}

/** The sign-in: with a method that is listed before sign-in, another one, or a token. */
export function SignInForm({ signIn }: SignInFormProps) {
  const mounts = useLoad("mounts", async () => {
    const answer = await new Api("").read<ShownMounts>("sys/internal/ui/mounts");
    return answer.ok ? done(listedMounts(answer.value)) : answer;
  });
  if (mounts.value === null && mounts.busy) return <div aria-busy="true" />;
  const others = (mounts.value ?? []).filter((mount) => !isUsable(mount));
  return (
    <div class="stack">
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      <WayForm key={String(mounts.value === null)} signIn={signIn} listed={mounts.value ?? []} />
      {others.length > 0 && (
        <p class="small muted">
          Clients also log in at {others.map(({ path, type }) => `auth/${path}/ (${type})`).join(", ")}: sign in with
          the token that they get.
        </p>
      )}
    </div>
  );
}

const OTHER: ChosenMethod = { isListed: false, path: "", type: "jwt" };

function WayForm({ signIn, listed }: SignInFormProps & { readonly listed: readonly ListedMount[] }) {
  const [first] = useState(() => firstMethod(listed, new URLSearchParams(window.location.search).get("with") ?? ""));
  const [way, setWay] = useState<Way>(first ? "method" : "token");
  const [method, setMethod] = useState<ChosenMethod>(first ?? OTHER);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const fields = useRef<HTMLDivElement>(null);
  const failure = useRef<HTMLDivElement>(null);
  // After the end of a session too, when the browser minds no autofocus.
  useEffect(() => fields.current?.querySelector("input")?.focus(), []);
  // Whoever sent the form hears first why it failed.
  useEffect(() => {
    if (problem) failure.current?.focus();
  }, [problem]);

  const given = (values[way] ?? "").trim();
  const wrong = way !== "method" && STRANGE.test(given) ? "It has a character that no token has: copy it again." : "";
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy || wrong !== "") return;
    setBusy(true);
    setProblem(null);
    const answer = await signIn(way === "method" ? loginOf(method, values) : { kind: way, token: given });
    if (answer.ok) return;
    setBusy(false);
    setProblem(answer.problem);
  };
  const onText = (name: string, text: string): void => setValues((before) => ({ ...before, [name]: text }));

  return (
    <form class="sign-in-form" onSubmit={submit}>
      <Segments
        legend="Sign in with"
        options={WAYS}
        value={way}
        onChange={(next) => {
          setWay(next);
          setProblem(null);
        }}
      />
      <div class="stack" ref={fields}>
        {way === "method" ? (
          <MethodFields
            listed={listed}
            method={method}
            onMethod={(next) => {
              setMethod(next);
              setProblem(null);
            }}
            values={values}
            onText={onText}
          />
        ) : (
          <Field label={way === "token" ? "Token" : "Wrapping token"} hint={HINTS[way]} wrong={wrong}>
            <SecretInput value={values[way] ?? ""} onText={(text) => onText(way, text)} required />
          </Field>
        )}
      </div>
      {problem && (
        <div ref={failure} tabIndex={-1}>
          <Failure problem={problem} way={way} />
        </div>
      )}
      <button type="submit" class="button primary full" aria-disabled={busy}>
        {busy ? "Signing in…" : "Sign in"}
      </button>
    </form>
  );
}

function loginOf(method: ChosenMethod, values: Readonly<Record<string, string>>): Credential {
  const { fields = [] } = LOGIN_FORMS[method.type] ?? {};
  const sent = fields.map(({ name }) => [name, (values[name] ?? "").trim()] as const).filter(([, text]) => text !== "");
  return { kind: "login", mount: pathOfMethod(method), fields: Object.fromEntries(sent) };
}

/** Why nobody was signed in. */
function Failure({ problem, way }: { readonly problem: Problem; readonly way: Way }) {
  const { status, messages, requestId } = problem;
  if (status !== 400 && status !== 403) return <ProblemNotice problem={problem} />;
  if (way !== "method") {
    return (
      <Notice tone="bad" title={`This ${way} is not valid here.`}>
        It may have expired, been used up or been revoked, or its policies let it do nothing, not even look itself up.
      </Notice>
    );
  }
  return (
    <Notice tone="bad" title="You are not signed in.">
      {messages.map((message) => (
        <p key={message}>{message}</p>
      ))}
      {requestId !== "" && (
        <p class="small muted">
          Request <code>{requestId}</code>
        </p>
      )}
    </Notice>
  );
}
