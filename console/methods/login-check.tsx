import { useState } from "preact/hooks";
import type { LoginExplanation } from "../../client/answers.d.ts";
import type { Envelope } from "../api.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { RecordValue } from "../records/field.ts";
import type { LoginCheck as LoginCheckOfMount } from "../records/part.ts";
import { type Answer, done, failed, notSent, type Problem } from "../result.ts";
import { refusalOfParts } from "../search/secret-in-address.ts";
import { type Session, useSession } from "../session.ts";
import {
  AllowedButton,
  End,
  Field,
  Icon,
  type IconName,
  Notice,
  SendProblem,
  Tags,
  TextInput,
  useLoad,
  useTried,
  Warnings,
} from "../ui/index.ts";
import { onlyRole, roleMistake } from "./login-role.ts";
import { belowMount } from "./mount-paths.ts";
import { objectMistake } from "./pasted-login.ts";

type Outcome = Check["outcome"];

type Check = LoginExplanation["checks"][number];

const WORDS: Readonly<Record<Outcome, readonly [text: string, tone: string, icon: IconName]>> = {
  passed: ["passed", "good", "check"],
  assumed: ["taken as said", "warn", "info"],
  failed: ["failed", "bad", "close"],
  not_reached: ["not reached", "off", "clock"],
};

interface LoginCheckProps {
  readonly mount: string;
  readonly part: LoginCheckOfMount;
  /** Initial values of the fields. */
  readonly given?: { readonly role: string; readonly identity: string };
}

/** Explains a login: the result of each check, in order. No token is made. */
export function LoginCheck({ mount, part, given }: LoginCheckProps) {
  const session = useSession();
  const { api } = session;
  const listPath = belowMount(mount, part.rolesPath);
  const roles = useLoad(listPath, () => api.list(listPath));
  const [typedRole, setRole] = useState(given?.role);
  const role = typedRole ?? onlyRole(roles.value ?? []);
  const [identity, setIdentity] = useState(given?.identity ?? "");
  const [address, setAddress] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [answer, setAnswer] = useState<Envelope<LoginExplanation> | null>(null);
  const found = answer?.data ?? null;
  const [tried, attempt] = useTried();
  const isEmpty = identity.trim() === "" && part.mayBeEmpty !== true;
  const mistake = objectMistake(identity);
  const wrongRole = roleMistake(part, role, part.fieldsOf(identity));
  const submit = async (event: Event): Promise<void> => {
    // Clears the previous result, which would seem to belong to the current input.
    const isRight = !isEmpty && mistake === "" && wrongRole === "";
    if (!isRight) {
      setAnswer(null);
      setProblem(null);
    }
    if (!attempt(event, isRight) || busy) return;
    setBusy(true);
    const ofRole = await roleFields(session, mount, part, role.trim());
    if (!ofRole.ok) {
      setBusy(false);
      setAnswer(null);
      return setProblem(ofRole.problem);
    }
    const body = {
      ...ofRole.value,
      ...part.fieldsOf(identity),
      ...(address.trim() !== "" && { client_address: address.trim() }),
    };
    const explained = await api.call<LoginExplanation>(belowMount(mount, part.path), { body });
    setBusy(false);
    setProblem(explained.ok ? null : explained.problem);
    setAnswer(explained.ok ? explained.value : null);
  };
  return (
    <div class="columns">
      <section class="card" aria-labelledby="login-checks" aria-live="polite">
        <header>
          <h2 id="login-checks">{found ? "Checks, in the order of a login" : "Checks"}</h2>
          {found?.auth_type && <span class="muted">{found.auth_type}</span>}
        </header>
        <div class="body stack">
          {!found && !problem && (
            <p class="muted">
              Paste who would log in: each check of the login is made and shown, and no token is given.
            </p>
          )}
          <SendProblem problem={problem} />
          {found?.allowed && (
            <Notice tone="good" title="This login gets a token">
              {found.token && <TokenOf token={found.token} />}
            </Notice>
          )}
          <Warnings of={answer} />
          {found && !found.allowed && <Notice tone="bad" title="This login is refused" />}
          {found && (
            <ol class="checks">
              {found.checks.map((check) => (
                <CheckRow key={check.name} check={check} />
              ))}
            </ol>
          )}
        </div>
      </section>
      <form class="card" aria-label="Who would log in" onSubmit={submit} noValidate>
        <header>
          <h2>Who would log in</h2>
        </header>
        <div class="body stack">
          <Field label="Role" name="role" hint={part.roleIfEmpty} wrong={tried ? wrongRole : ""}>
            <input
              value={role}
              onInput={(event) => setRole(event.currentTarget.value)}
              list="roles-of-mount"
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
          <datalist id="roles-of-mount">
            {(roles.value ?? []).map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <Field label={part.label} hint={part.hint} wrong={tried ? (isEmpty ? "Needed" : mistake) : ""}>
            <textarea
              class="mono"
              rows={7}
              value={identity}
              onInput={(event) => setIdentity(event.currentTarget.value)}
              required={part.mayBeEmpty !== true}
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
          <Field label="Address that it comes from" name="client_address" hint="Empty: yours.">
            <TextInput value={address} onText={setAddress} />
          </Field>
          <div class="actions">
            <AllowedButton look="button primary" needs={needsOf(belowMount(mount, part.path))} busy={busy}>
              {busy ? "Checking…" : "Check the login"}
            </AllowedButton>
          </div>
        </div>
      </form>
    </div>
  );
}

/** The fields that name the role of a login. */
async function roleFields(
  session: Session,
  mount: string,
  { roleIdAt }: LoginCheckOfMount,
  role: string,
): Promise<Answer<RecordValue>> {
  if (role === "") return done({});
  if (roleIdAt === undefined) return done({ role });
  const refusal = await refusalOfParts(session, [role]);
  if (refusal !== "") return notSent(refusal);
  const found = await session.api.read<RecordValue>(belowMount(mount, roleIdAt(role)));
  if (found.ok || found.problem.status !== 404) return found;
  return failed({ ...found.problem, messages: [`There is no role ${role}.`] });
}

function CheckRow({ check }: { readonly check: Check }) {
  const { name, description, outcome, bound, actual, message } = check;
  const [word, tone, icon] = WORDS[outcome];
  return (
    <li class={outcome === "not_reached" ? "muted" : undefined}>
      <span class={`tag ${tone}`}>
        <Icon name={icon} size={12} /> {word}
      </span>
      <div>
        <div title={name}>{description}</div>
        {message !== null && <div class="bad break">{message}</div>}
        {bound.length > 0 && (
          <div class="small">
            asked for <Tags names={bound} most={12} />
          </div>
        )}
        {actual !== null && (
          <div class="small break">
            is <code>{actual}</code>
          </div>
        )}
      </div>
    </li>
  );
}

function TokenOf({ token }: { readonly token: NonNullable<LoginExplanation["token"]> }) {
  return (
    <p>
      A {token.token_type} token with{" "}
      <Tags names={[...token.token_policies, ...(token.identity_policies ?? [])]} most={20} />, which ends{" "}
      <End at={token.expiration_time} />.
    </p>
  );
}
