import { useEffect, useRef, useState } from "preact/hooks";
import type { ShownMounts } from "../../client/answers.d.ts";
import { Api } from "../api.ts";
import { type Answer, done, type Problem } from "../result.ts";
import { Field, Focused, Notice, ProblemNotice, SecretInput, Segments, useLoad, useTried } from "../ui/index.ts";
import { beginProviderLogin, callbackOf, type ProviderLogin } from "./begin-provider-login.ts";
import type { Credential } from "./credential.ts";
import { Failure } from "./failure.tsx";
import {
  type ChosenMethod,
  firstMethod,
  isAtProvider,
  isUsable,
  type ListedMount,
  listedMounts,
  loginOf,
  missingIn,
  pathOfMethod,
} from "./login-forms.ts";
import { forgetLogin, keepLogin, takeArrival } from "./login-storage.ts";
import { MethodFields } from "./method-fields.tsx";
import { NotInitialized } from "./not-initialized.tsx";
import type { ProviderAnswer } from "./oidc-callback.ts";
import { offerAnswer } from "./other-tab.ts";
import { InOtherTab, OnDevice } from "./provider-login.tsx";
import { isWrappingToken } from "./wrapping-token.ts";

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
/** Characters that are not allowed in a header. */
const STRANGE = /[^\x20-\x7e\xa0-\xff]/;
const STRANGE_TEXT = "It has a character that no token has: copy it again.";

const NOT_BEGUN = "This sign-in was not begun in this tab, or it was answered before. Nothing of it was used.";

interface SignInFormProps {
  signIn(credential: Credential): Promise<Answer<void>>;
  /** True to keep this page: the identity provider is opened in another tab. */
  readonly keepsPage?: boolean;
  /** Called when a sign-in failed. */
  readonly onFailed?: () => void;
}

/** The server's refusal of a login that names no role, at a method without a default one. */
const NO_ROLE = "missing role";

/** The sign-in form: for a listed auth method, another method, or a token. */
export function SignInForm({ signIn, keepsPage = false, onFailed = () => {} }: SignInFormProps) {
  const mounts = useLoad<readonly ListedMount[] | null>("mounts", async () => {
    const answer = await new Api("").read<ShownMounts>("sys/internal/ui/mounts");
    if (answer.ok) return done(listedMounts(answer.value));
    const state = await new Api("").read<{ readonly initialized: boolean }>("sys/init");
    return state.ok && !state.value.initialized ? done(null) : answer;
  });
  if (mounts.value === null && mounts.busy) return <div aria-busy="true" />;
  if (mounts.value === null && mounts.problem === null) return <NotInitialized onLook={mounts.reload} />;
  const others = (mounts.value ?? []).filter((mount) => !isUsable(mount));
  return (
    <div class="stack">
      {mounts.problem && <ProblemNotice problem={mounts.problem} onRetry={mounts.reload} />}
      <WayForm key={String(mounts.value === null)} {...{ signIn, keepsPage, onFailed }} listed={mounts.value ?? []} />
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

function WayForm({
  signIn,
  keepsPage,
  onFailed,
  listed,
}: Required<SignInFormProps> & { readonly listed: readonly ListedMount[] }) {
  const [arrival] = useState(takeArrival);
  const [first] = useState(() => {
    const wanted = new URLSearchParams(window.location.search).get("with") ?? "";
    return firstMethod(listed, arrival?.isExpected ? arrival.mount : wanted);
  });
  const [way, setWay] = useState<Way>(first ? "method" : "token");
  const [method, setMethod] = useState<ChosenMethod>(first ?? OTHER);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [elsewhere, setElsewhere] = useState<ProviderLogin | null>(null);
  const [isOver, setIsOver] = useState(false);
  /** The provider's error text in the answer that opened this page. */
  const [providerMessage, setProviderMessage] = useState(arrival?.isExpected ? arrival.providerMessage : "");
  const [wasRecognised, setWasRecognised] = useState(false);
  const fields = useRef<HTMLDivElement>(null);
  const isElsewhere = way === "method" && isAtProvider(method, values);

  const begin = (): void => {
    setBusy(true);
    setProblem(null);
  };
  const fail = (why: Problem): void => {
    setBusy(false);
    setElsewhere(null);
    setProblem(why);
    onFailed();
  };
  const send = async (credential: Credential): Promise<void> => {
    begin();
    const answer = await signIn(credential);
    if (!answer.ok) fail(answer.problem);
  };
  /** Checks first whether the text is a wrapping token: any other use than unwrapping would spend it. */
  const sendToken = async (token: string): Promise<void> => {
    begin();
    const isWrapping = await isWrappingToken(token);
    if (!isWrapping.ok) return fail(isWrapping.problem);
    if (!isWrapping.value) return send({ kind: "token", token });
    setBusy(false);
    setValues((before) => ({ ...before, token: "", "wrapping token": token }));
    setWay("wrapping token");
    setWasRecognised(true);
  };
  const goToProvider = async (): Promise<void> => {
    begin();
    const answer = await beginProviderLogin(pathOfMethod(method), (values.role ?? "").trim());
    if (!answer.ok) return fail(answer.problem);
    if (answer.value.kind === "device" || keepsPage) {
      setBusy(false);
      return setElsewhere(answer.value);
    }
    keepLogin(answer.value.begun);
    window.location.assign(answer.value.address);
  };
  /** Offers the answer to the tab that began the login. */
  const passOn = async (answer: ProviderAnswer): Promise<void> => {
    begin();
    if (await offerAnswer(answer)) setIsOver(true);
    else fail({ status: 400, messages: [NOT_BEGUN], requestId: "" });
  };
  const change = (next: { readonly way?: Way; readonly method?: ChosenMethod }): void => {
    if (next.way) setWay(next.way);
    if (next.method) setMethod(next.method);
    setWasRecognised(false);
    setProviderMessage("");
    setProblem(null);
  };

  useEffect(() => {
    // Browsers ignore `autofocus` once another element had the focus.
    const inputs = [...(fields.current?.querySelectorAll("input") ?? [])].filter((one) => !one.closest("details"));
    const submit = fields.current?.closest("form")?.querySelector<HTMLElement>("button[type=submit]");
    (inputs[0] ?? submit)?.focus();
    if (arrival?.isExpected) void send(callbackOf(arrival.mount, arrival.fields));
    else if (arrival) void passOn(arrival.answer);
  }, []);
  // The browser's back button restores the page with its old state.
  useEffect(() => {
    const onShow = ({ persisted }: PageTransitionEvent): void => {
      if (!persisted) return;
      forgetLogin();
      setBusy(false);
    };
    window.addEventListener("pageshow", onShow);
    return () => window.removeEventListener("pageshow", onShow);
  }, []);

  const [tried, attempt] = useTried();
  const given = (values[way] ?? "").trim();
  const isStrange = STRANGE.test(given);
  const isRight = way === "method" ? missingIn(method, values).length === 0 : given !== "" && !isStrange;
  const submit = (event: Event): void => {
    if (!attempt(event, isRight) || busy) return;
    setProviderMessage("");
    if (isElsewhere) void goToProvider();
    else if (way === "token") void sendToken(given);
    else void send(way === "method" ? loginOf(method, values) : { kind: way, token: given });
  };
  const onText = (name: string, text: string): void => setValues((before) => ({ ...before, [name]: text }));

  if (isOver) return <Notice tone="good" title="You are signed in in the other tab. This one can be closed." />;
  const panel = { signIn, onFailure: fail, onCancel: () => setElsewhere(null) };
  if (elsewhere?.kind === "device") return <OnDevice login={elsewhere} {...panel} />;
  if (elsewhere) return <InOtherTab login={elsewhere} {...panel} />;
  return (
    <form class="sign-in-form" onSubmit={submit} noValidate>
      <Segments legend="Sign in with" options={WAYS} value={way} onChange={(next) => change({ way: next })} />
      <div class="stack" ref={fields}>
        {way === "method" ? (
          <MethodFields
            listed={listed}
            method={method}
            onMethod={(next) => change({ method: next })}
            values={values}
            onText={onText}
            tried={tried}
            lacksRole={problem?.messages.includes(NO_ROLE) ?? false}
          />
        ) : (
          <Field
            label={way === "token" ? "Token" : "Wrapping token"}
            hint={HINTS[way]}
            wrong={isStrange ? STRANGE_TEXT : tried && given === "" ? "Needed" : ""}
          >
            <SecretInput value={values[way] ?? ""} onText={(text) => onText(way, text)} required />
          </Field>
        )}
      </div>
      {wasRecognised && !problem && (
        <Focused on={wasRecognised}>
          <Notice title="This is a wrapping token">
            Nothing of it was used. It is unwrapped once, when you sign in: only then what is inside is yours.
          </Notice>
        </Focused>
      )}
      {problem && (
        <Focused on={problem}>
          <Failure problem={problem} of={way === "method" ? method : way} providerMessage={providerMessage} />
        </Focused>
      )}
      <button type="submit" class="button primary full" aria-disabled={busy}>
        {busy ? "Signing in…" : isElsewhere ? "Sign in at the identity provider" : "Sign in"}
      </button>
    </form>
  );
}
