import { useState } from "preact/hooks";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Field, Segments } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";

type Subject = "self" | "accessor";

const SUBJECTS: readonly (readonly [Subject, string])[] = [
  ["self", "My token"],
  ["accessor", "Another token"],
];

/** Every capability that a path can have, in the order of what they allow. */
const CAPABILITIES = ["create", "read", "update", "patch", "delete", "list", "sudo"] as const;

/** What a token may do on a path, as the server decides it. */
export function CapabilityCheck({ accessor = "" }: { readonly accessor?: string }) {
  const { api } = useSession();
  const [subject, setSubject] = useState<Subject>(accessor === "" ? "self" : "accessor");
  const [other, setOther] = useState(accessor);
  const [path, setPath] = useState("");
  const [has, setHas] = useState<{ readonly path: string; readonly names: readonly string[] } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const asked = path.trim().replace(/^\/?(v1\/)?/, "");
    const [endpoint, body] =
      subject === "self"
        ? (["sys/capabilities-self", { paths: [asked] }] as const)
        : (["sys/capabilities-accessor", { paths: [asked], accessor: other.trim() }] as const);
    const answer = await api.call<Readonly<Record<string, readonly string[]>>>(endpoint, { body });
    setProblem(answer.ok ? null : answer.problem);
    setHas(answer.ok ? { path: asked, names: answer.value.data[asked] ?? [] } : null);
  };

  const refused = has?.names.includes("deny");
  return (
    <section class="card" aria-labelledby="capability-check">
      <header>
        <h2 id="capability-check">What may a token do on a path?</h2>
      </header>
      <form class="body stack" onSubmit={submit}>
        <Segments legend="Token" options={SUBJECTS} value={subject} onChange={setSubject} />
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
