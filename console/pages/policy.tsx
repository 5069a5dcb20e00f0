import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf } from "../api.ts";
import { href } from "../href.ts";
import { CapabilityCheck } from "../policies/capability-check.tsx";
import { offsetOf, type Place, placeIn } from "../policies/place.ts";
import type { Problem } from "../result.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { Dialog, Field } from "../ui/controls.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

interface StoredPolicy {
  readonly name: string;
  readonly policy: string;
  readonly version?: number;
  readonly modified?: string;
}

/** Nobody can change these. */
const FIXED = new Set(["root", "response-wrapping"]);
const EXAMPLE = `path "cubbyhole/notes/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}
`;

const endpointOf = (name: string): string => `sys/policies/acl/${pathOf(...name.split("/"))}`;

/** One policy to read and change. */
export function PolicyPage({ name }: { readonly name: string }) {
  const { api } = useSession();
  const policy = useLoad(name, () => api.read<StoredPolicy>(endpointOf(name)));
  const [asking, setAsking] = useState(false);
  const [typed, setTyped] = useState<string | null>(null);
  const value = policy.value;
  const isFixed = FIXED.has(name);
  return (
    <>
      <PageHead
        title={name}
        text={
          value?.modified !== undefined &&
          Date.parse(value.modified) > 0 && (
            <>
              Changed <Time at={value.modified} both />
            </>
          )
        }
      >
        <a class="button" href={href(["tokens"], { policy: name })}>
          Tokens with it
        </a>
        {!isFixed && name !== "default" && (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            Delete…
          </button>
        )}
      </PageHead>
      {policy.problem && <ProblemNotice problem={policy.problem} onRetry={policy.reload} />}
      <div class="columns">
        {value && (
          <Editor
            key={`${name} ${value.modified}`}
            name={name}
            text={value.policy}
            isFixed={isFixed}
            onTyped={setTyped}
            onSaved={policy.reload}
          />
        )}
        {name === "root" ? <CapabilityCheck /> : value && <CapabilityCheck policy={typed ?? value.policy} />}
      </div>
      {asking && <DeletePolicy name={name} onClose={() => setAsking(false)} />}
    </>
  );
}

/** A policy that is not there yet. */
export function NewPolicyPage() {
  const [name, setName] = useState("");
  const [typed, setTyped] = useState(EXAMPLE);
  return (
    <>
      <PageHead title="New policy" />
      <div class="columns">
        <div class="stack">
          <Field label="Name">
            <input
              value={name}
              onInput={(event) => setName(event.currentTarget.value.trim())}
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
          <Editor
            name={name}
            text={EXAMPLE}
            isNew
            onTyped={setTyped}
            onSaved={() => go(href(["policies", name.toLowerCase()]), "replace")}
          />
        </div>
        <CapabilityCheck policy={typed} />
      </div>
    </>
  );
}

interface EditorProps {
  readonly name: string;
  readonly text: string;
  readonly isFixed?: boolean;
  readonly isNew?: boolean;
  readonly onTyped: (text: string) => void;
  readonly onSaved: () => void;
}

/** The text with its line numbers; a mistake that the parser names is marked and the cursor put there. */
function Editor({ name, text, isFixed = false, isNew = false, onTyped, onSaved }: EditorProps) {
  const { api } = useSession();
  const [typed, setTyped] = useState(text);
  const type = (next: string): void => {
    setTyped(next);
    onTyped(next);
  };
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const place: Place | null = problem ? placeIn(problem.messages.join("\n")) : null;

  useEffect(() => {
    const element = area.current;
    if (!element || !place) return;
    const at = offsetOf(typed, place);
    element.focus();
    element.setSelectionRange(at, Math.min(typed.length, at + 1));
  }, [problem]);

  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSaved(false);
    const answer = await api.call(endpointOf(name), { body: { policy: typed } });
    setProblem(answer.ok ? null : answer.problem);
    setSaved(answer.ok);
    if (answer.ok) onSaved();
  };
  const lines = typed.split("\n").length;
  const changed = typed !== text || isNew;
  return (
    <form class="stack tight" onSubmit={save}>
      <div class="editor">
        <div class="editor-lines number" ref={numbers} aria-hidden="true">
          {Array.from({ length: lines }, (_, at) => (
            <span key={at} class={place?.line === at + 1 ? "wrong" : undefined}>
              {at + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label={`Text of the policy ${name}`}
          aria-invalid={place ? "true" : undefined}
          value={typed}
          readOnly={isFixed}
          spellcheck={false}
          rows={Math.min(30, Math.max(14, lines + 1))}
          wrap="off"
          onInput={(event) => {
            type(event.currentTarget.value);
            setSaved(false);
          }}
          onScroll={(event) => {
            if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {problem && place && (
        <Notice tone="bad" title={`Line ${place.line}, column ${place.column}`}>
          {problem.messages.map((message) => (
            <p key={message}>{message}</p>
          ))}
        </Notice>
      )}
      {problem && !place && <ProblemNotice problem={problem} />}
      {saved && (
        <Notice tone="good" title="Saved">
          It holds everywhere within seconds.
        </Notice>
      )}
      {!isFixed && (
        <div class="actions">
          {typed !== text && (
            <button type="button" class="button" onClick={() => type(text)}>
              Undo the changes
            </button>
          )}
          <button type="submit" class="button primary" disabled={!changed || name === ""}>
            Save
          </button>
        </div>
      )}
    </form>
  );
}

function DeletePolicy({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { api } = useSession();
  const [problem, setProblem] = useState<Problem | null>(null);
  const remove = async (): Promise<void> => {
    const answer = await api.call(endpointOf(name), { method: "DELETE" });
    if (answer.ok) go(href(["policies"]));
    else setProblem(answer.problem);
  };
  return (
    <Dialog title={`Delete ${name}`} onClose={onClose}>
      <p>Tokens that have this policy lose what it grants, within seconds. They stay.</p>
      {problem && <ProblemNotice problem={problem} />}
      <div class="actions">
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button danger solid" onClick={remove}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
