import { useState } from "preact/hooks";
import type { Explanation } from "../../client/answers.d.ts";
import type { Problem } from "../result.ts";
import { textItself } from "../search/find-tokens.ts";
import { type Itself, NOTHING } from "../search/text-result.ts";
import { useSession } from "../session.ts";
import { Card, Field, Segments, SendProblem, TextInput, useTried } from "../ui/index.ts";
import { askedPath, capabilitiesPath, nameOfToken, type Subject } from "./asked-capabilities.ts";
import { ExplanationNotice } from "./explanation-notice.tsx";

const TOKENS: readonly (readonly [Subject, string])[] = [
  ["self", "My token"],
  ["other", "Another token"],
];
const WITH_POLICY: readonly (readonly [Subject, string])[] = [["policy", "This policy"], ...TOKENS];

/** The capabilities, in the order of their power. */
const CAPABILITIES = ["create", "read", "update", "patch", "delete", "list", "sudo"] as const;
const OPERATIONS = ["read", "list", "create", "update", "patch", "delete"] as const;

interface CapabilityCheckProps {
  /** The text in the editor, saved or not. */
  readonly policy?: string;
  /** The accessor of the initial token; "" for the session's own token. */
  readonly accessor?: string;
}

/** The result for a path. */
interface Found {
  readonly path: string;
  /** null when the token is not valid. */
  readonly names: readonly string[] | null;
  /** Absent for a policy: the server explains only requests of a token. */
  readonly explanation?: Explanation;
  /** What is known of a token that is not valid. */
  readonly itself?: Itself;
}

/** The capabilities of a policy or a token on a path; for a token also the deciding rule, from the server. */
export function CapabilityCheck({ policy, accessor = "" }: CapabilityCheckProps) {
  const session = useSession();
  const { api } = session;
  const [subject, setSubject] = useState<Subject>(policy !== undefined ? "policy" : accessor === "" ? "self" : "other");
  const [other, setOther] = useState(accessor);
  const [path, setPath] = useState("");
  const [operation, setOperation] = useState<string>(OPERATIONS[0]);
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tried, attempt] = useTried();
  const isNameless = subject === "other" && other.trim() === "";
  const isPathless = path.trim() === "";

  const submit = async (event: Event): Promise<void> => {
    if (!attempt(event, !isNameless && !isPathless)) return;
    const { asked, parameters } = askedPath(path);
    const more = { policy: { policy }, self: {}, other: nameOfToken(other.trim()) }[subject];
    const [has, why] = await Promise.all([
      api.call<Readonly<Record<string, readonly string[]>>>(capabilitiesPath(subject, more), {
        body: { paths: [asked], ...more },
      }),
      subject === "policy"
        ? null
        : api.call<Explanation>(`sys/explain/access${subject === "self" ? "-self" : ""}`, {
            body: { path: asked, operation, parameters, ...more },
          }),
    ]);
    // The server tells no capabilities of a token that has ended, but what the token was and why it is refused.
    const isInvalid = subject === "other" && !has.ok && has.problem.status !== 0;
    const itself = isInvalid ? await textItself(session, other.trim()) : NOTHING;
    const isKnown = has.ok || (isInvalid && (itself.found.length > 0 || itself.note !== ""));
    const names = has.ok ? (has.value.data[asked] ?? []) : null;
    setProblem(!isKnown && !has.ok ? has.problem : why && !why.ok && has.ok ? why.problem : null);
    setFound(isKnown ? { path: asked, names, itself, ...(why?.ok && { explanation: why.value.data }) } : null);
  };

  return (
    <Card title={<>What may {policy === undefined ? "a token" : "it"} do on a path, and why?</>}>
      <form class="body stack" onSubmit={submit} noValidate>
        <Segments
          legend="Whose"
          options={policy === undefined ? TOKENS : WITH_POLICY}
          value={subject}
          onChange={(next) => {
            setSubject(next);
            setFound(null);
          }}
        />
        {subject === "policy" && (
          <p class="small muted">As it stands in the editor, saved or not, without the other policies of a token.</p>
        )}
        {subject === "other" && (
          <Field
            label="Accessor or token"
            name="accessor"
            hint="A token is sent in the body, and kept nowhere."
            wrong={tried && isNameless ? "Needed" : ""}
          >
            <TextInput value={other} onText={setOther} required />
          </Field>
        )}
        <Field label="Path" name="path" wrong={tried && isPathless ? "Needed" : ""}>
          <TextInput value={path} onText={setPath} placeholder="auth/token/create" required />
        </Field>
        {subject !== "policy" && (
          <Field label="Operation" name="operation">
            <select value={operation} onChange={(event) => setOperation(event.currentTarget.value)}>
              {OPERATIONS.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </Field>
        )}
        <div class="actions">
          <button type="submit" class="button">
            Check
          </button>
        </div>
        <SendProblem problem={problem} />
        {found && (
          <div aria-live="polite" class="stack tight">
            {found.explanation && <ExplanationNotice explanation={found.explanation} />}
            {found.itself && <TokenItself itself={found.itself} />}
            {found.names && <CapabilityTags path={found.path} names={found.names} />}
          </div>
        )}
      </form>
    </Card>
  );
}

/** What is known of an invalid token, with a link to its page. */
function TokenItself({ itself: { found, note } }: { readonly itself: Itself }) {
  return (
    <>
      {note !== "" && <p>{note}</p>}
      {found.map(({ href, name, detail }) => (
        <p key={href}>
          <a href={href}>{name}</a> <span class="muted small">{detail}</span>
        </p>
      ))}
    </>
  );
}

function CapabilityTags({ path, names }: { readonly path: string; readonly names: readonly string[] }) {
  return (
    <>
      <p class="small muted break">
        All that is allowed on <code>{path}</code>:
      </p>
      {names.includes("root") ? (
        <p>
          <span class="tag bad">root</span> Everything.
        </p>
      ) : names.includes("deny") ? (
        <p>
          <span class="tag warn">refused</span> Nothing at all.
        </p>
      ) : (
        <ul class="tags">
          {CAPABILITIES.map((name) => (
            <li key={name} class={`tag ${names.includes(name) ? "good" : "off"}`}>
              {name}
              <span class="visually-hidden">{names.includes(name) ? " allowed" : " refused"}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
