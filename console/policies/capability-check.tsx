import { useState } from "preact/hooks";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Field, Segments } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";

type Subject = "policy" | "self" | "accessor";

const TOKENS: readonly (readonly [Subject, string])[] = [
  ["self", "My token"],
  ["accessor", "Another token"],
];
const WITH_POLICY: readonly (readonly [Subject, string])[] = [["policy", "This policy"], ...TOKENS];

/** Every capability that a path can have, in the order of what they allow. */
const CAPABILITIES = ["create", "read", "update", "patch", "delete", "list", "sudo"] as const;

interface CapabilityCheckProps {
  /** The text of a policy as it stands in the editor, saved or not. */
  readonly policy?: string;
}

/** What a policy or a token may do on a path, as the server decides it. */
export function CapabilityCheck({ policy }: CapabilityCheckProps) {
  const { api } = useSession();
  const [subject, setSubject] = useState<Subject>(policy === undefined ? "self" : "policy");
  const [other, setOther] = useState("");
  const [path, setPath] = useState("");
  const [has, setHas] = useState<{ readonly path: string; readonly names: readonly string[] } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const asked = path.trim().replace(/^\/?(v1\/)?/, "");
    const more = { policy: { policy }, self: {}, accessor: { accessor: other.trim() } }[subject];
    const answer = await api.call<Readonly<Record<string, readonly string[]>>>(`sys/capabilities-${subject}`, {
      body: { paths: [asked], ...more },
    });
    setProblem(answer.ok ? null : answer.problem);
    setHas(answer.ok ? { path: asked, names: answer.value.data[asked] ?? [] } : null);
  };

  const refused = has?.names.includes("deny");
  return (
    <section class="card" aria-labelledby="capability-check">
      <header>
        <h2 id="capability-check">What may {policy === undefined ? "a token" : "it"} do on a path?</h2>
      </header>
      <form class="body stack" onSubmit={submit}>
        <Segments
          legend="Whose"
          options={policy === undefined ? TOKENS : WITH_POLICY}
          value={subject}
          onChange={setSubject}
        />
        {subject === "policy" && (
          <p class="small muted">As it stands in the editor, saved or not, without the other policies of a token.</p>
        )}
        {subject === "accessor" && (
          <Field label="Accessor">
            <input
              value={other}
              onInput={(event) => setOther(event.currentTarget.value)}
              required
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
        )}
        <Field label="Path">
          <input
            value={path}
            onInput={(event) => setPath(event.currentTarget.value)}
            placeholder="auth/token/create"
            required
            autocomplete="off"
            spellcheck={false}
          />
        </Field>
        <div class="actions">
          <button type="submit" class="button">
            Check
          </button>
        </div>
        {problem && <ProblemNotice problem={problem} />}
        {has && (
          <div aria-live="polite" class="stack tight">
            <code class="break">{has.path}</code>
            {has.names.includes("root") ? (
              <p>
                <span class="tag bad">root</span> Everything.
              </p>
            ) : refused ? (
              <p>
                <span class="tag warn">refused</span> Nothing at all.
              </p>
            ) : (
              <ul class="tags">
                {CAPABILITIES.map((name) => (
                  <li key={name} class={`tag ${has.names.includes(name) ? "good" : "off"}`}>
                    {name}
                    <span class="visually-hidden">{has.names.includes(name) ? " allowed" : " refused"}</span>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </form>
    </section>
  );
}
