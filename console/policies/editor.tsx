import { useEffect, useRef, useState } from "preact/hooks";
import type { PolicyVersion, StoredPolicy } from "../../client/answers.d.ts";
import { needsOf } from "../needed-capabilities.ts";
import { CopyAs } from "../records/copy-as.tsx";
import { notSent, type Problem } from "../result.ts";
import { refusalOfParts } from "../search/secret-in-address.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Field, Focused, Notice, SendProblem, TextInput, useTried, Working } from "../ui/index.ts";
import { DiffView } from "./diff-view.tsx";
import { endpointOf, isConflict, offsetOf, type Place, placeIn, settingsOf } from "./policy-endpoint.ts";
import { TokensWithIt } from "./usage.tsx";
import { usePolicyCheck } from "./use-policy-check.ts";
import { usePolicyText } from "./use-policy-text.ts";

interface EditorProps {
  readonly name: string;
  /** The stored policy. A policy that does not exist yet has the version -1 and an example as its text. */
  readonly policy: StoredPolicy;
  readonly isFixed?: boolean;
  /** An earlier version whose text replaces the typed one; a new object each time. */
  readonly restored?: PolicyVersion | null;
  /** Present for a new policy: its name is a field of the form. */
  readonly onName?: (name: string) => void;
  readonly onTyped: (text: string) => void;
  /** Called when the policy was written, with what was written. */
  readonly onSaved: (written: StoredPolicy) => void;
  /** Called when the server has another version than `policy`. Absent for a new policy. */
  readonly onOvertaken?: () => void;
}

/** The check of a text needs a path. What it grants there is not shown. */
const CHECKED_PATHS = ["sys/policies/acl"];

const placeOf = ({ messages }: Problem): Place | null => placeIn(messages.join("\n"));

/**
 * The text with line numbers. A mistake that the parser names is marked while the text is typed; after a refused save the
 * cursor is placed there. Before saving, the editor shows the changes; it saves only over the version that was shown.
 */
export function Editor(props: EditorProps) {
  const { name, policy, isFixed = false, restored = null, onName, onTyped, onSaved, onOvertaken } = props;
  const session = useSession();
  const { api } = session;
  const isNew = policy.version === -1;
  const { typed, seen, isKept, type, take, keepMine, noteSaved } = usePolicyText(isNew ? "" : name, policy);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState(false);
  const [tried, attempt] = useTried();
  const [busy, setBusy] = useState(false);
  /** How often the server refused the text because it had another version. */
  const [refusals, setRefusals] = useState(0);
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLDivElement>(null);
  const changed = typed !== policy.policy;
  const check = usePolicyCheck(changed && !saved ? typed : null, CHECKED_PATHS);
  const place = problem && placeOf(problem);
  const mistake = problem ?? check.problem;
  const typedPlace = mistake && placeOf(mistake);
  const overtaken = changed && !saved && seen !== policy.version;
  const isSame = (!changed && !isNew) || saved;
  const idle = isSame
    ? "nothing is changed"
    : overtaken
      ? "choose which text to keep"
      : check.isRefused
        ? "the text has a mistake"
        : "";

  useEffect(() => onTyped(typed), [typed]);
  useEffect(() => {
    if (!restored) return;
    type(restored.policy);
    setSaved(false);
    setProblem(null);
  }, [restored]);
  useEffect(() => {
    const element = area.current;
    if (!element || !place) return;
    const at = offsetOf(typed, place);
    element.focus();
    element.setSelectionRange(at, Math.min(typed.length, at + 1));
  }, [problem]);

  const save = async (event: Event): Promise<void> => {
    if (!attempt(event, name !== "") || busy || idle !== "") return;
    setBusy(true);
    const body = { ...settingsOf(policy), policy: typed, cas: seen };
    const refusal = isNew ? await refusalOfParts(session, [name]) : "";
    const answer = refusal === "" ? await api.call(endpointOf(name), { body }) : notSent(refusal);
    setBusy(false);
    setSaved(answer.ok);
    if (answer.ok) noteSaved();
    const isOvertaken = !answer.ok && isConflict(answer.problem);
    if (isOvertaken) setRefusals((before) => before + 1);
    if (isOvertaken && isNew)
      return setProblem({ ...answer.problem, messages: [`There is a policy ${name} already.`] });
    setProblem(answer.ok || isOvertaken ? null : answer.problem);
    if (answer.ok) onSaved({ ...policy, policy: typed, version: seen + 1, modified: new Date().toISOString() });
    if (isOvertaken) onOvertaken?.();
  };
  const lines = typed.split("\n").length;
  return (
    <form class="stack tight" onSubmit={save} noValidate>
      {onName && (
        <Field label="Name" name="name" wrong={tried && name === "" ? "Needed" : ""}>
          <TextInput value={name} onText={(text) => onName(text.trim())} />
        </Field>
      )}
      {restored && changed && !saved && typed === restored.policy && !overtaken && (
        <Focused on={restored}>
          <Notice tone="warn" title={`The text of version ${restored.version} is below. It is not saved yet`}>
            Look at what it changes, then save it as version {policy.version + 1}.
          </Notice>
        </Focused>
      )}
      {isKept && !overtaken && (
        <Notice title="Your unsaved text is here again">This tab kept it. It is not saved yet.</Notice>
      )}
      {overtaken && (
        <Focused on={refusals === 0 ? null : refusals}>
          <Notice tone="warn" title={`Not saved: it was changed meanwhile, to version ${policy.version}`}>
            <p>
              You began from version {seen}. Below is what your text would change in version {policy.version}.
            </p>
            <div class="row">
              <button type="button" class="button slim" onClick={keepMine}>
                Keep my text
              </button>
              <button type="button" class="button slim" onClick={take}>
                Take version {policy.version}
              </button>
            </div>
          </Notice>
        </Focused>
      )}
      <div class="editor">
        <div class="editor-lines number" ref={numbers} aria-hidden="true">
          {Array.from({ length: lines }, (_, at) => (
            <span key={at} class={typedPlace?.line === at + 1 ? "wrong" : undefined}>
              {at + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label={`Text of the policy ${name}`}
          aria-invalid={typedPlace ? "true" : undefined}
          value={typed}
          readOnly={isFixed}
          spellcheck={false}
          rows={Math.min(30, Math.max(14, lines + 1))}
          wrap="off"
          onInput={(event) => {
            type(event.currentTarget.value);
            setSaved(false);
            if (check.isAsked) setProblem(null);
          }}
          onScroll={(event) => {
            if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      {mistake && typedPlace && (
        <Notice tone={problem ? "bad" : "warn"} title={`Line ${typedPlace.line}, column ${typedPlace.column}`}>
          {mistake.messages.map((message) => (
            <p key={message}>{message}</p>
          ))}
        </Notice>
      )}
      {check.unserved.length > 0 && (
        <Notice title="No endpoint of Grove has these paths">
          <p class="break">
            {check.unserved.map(({ path, lines }) => `${path} (line ${lines.join(", ")})`).join("; ")}. Only other
            services can ask about them: look for a mistake if they are meant for Grove.
          </p>
        </Notice>
      )}
      {busy && <Working />}
      {!place && <SendProblem problem={problem} />}
      {saved && (
        <Notice tone="good" title="Saved">
          It holds everywhere within seconds.
        </Notice>
      )}
      {changed && !isNew && !saved && <DiffView before={policy.policy} after={typed} />}
      {changed && !isNew && !saved && <TokensWithIt name={name} />}
      {!isFixed && (
        <div class="actions">
          {changed && !saved && (
            <button type="button" class="button" onClick={take}>
              Undo the changes
            </button>
          )}
          <AllowedButton look="button primary" needs={isNew ? null : needsOf(endpointOf(name))} busy={busy} idle={idle}>
            Save
          </AllowedButton>
        </div>
      )}
      {!isFixed && (
        <CopyAs
          values={name === "" ? null : { policy: typed }}
          request={({ policy: text }) => ({
            path: endpointOf(name),
            body: { ...settingsOf(policy), policy: text, ...(policy.cas_required === true && { cas: seen }) },
          })}
          fields={[{ name: "policy", label: "Policy", kind: "long text" }]}
          terraform={{ resource: { type: "vault_policy" }, given: { name } }}
        />
      )}
    </form>
  );
}
