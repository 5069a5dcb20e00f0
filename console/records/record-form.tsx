import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Envelope } from "../api.ts";
import type { Answer, Problem } from "../result.ts";
import { Field as Labelled } from "../ui/controls.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { useDraft } from "../ui/use-draft.ts";
import { bodyOf, draftOf, type Field, type FieldGroup, isShown, mistakeIn, type RecordValue } from "./field.ts";

interface RecordFormProps<T> {
  readonly groups: readonly FieldGroup[];
  /** As it is now; null for one that is to be made. */
  readonly record: RecordValue | null;
  /** The word on the button. */
  readonly action: string;
  /** Sends what was changed. */
  readonly send: (body: Record<string, unknown>) => Promise<Answer<Envelope<T>>>;
  /** Called with what was sent, and what the API answered. */
  readonly onSaved: (body: Record<string, unknown>, data: T) => void;
}

/** Makes or changes a record: an input for each field, and only what was changed is sent. */
export function RecordForm<T>({ groups, record, action, send, onSaved }: RecordFormProps<T>) {
  const fields = groups.flatMap((group) => group.fields);
  const before = draftOf(fields, record);
  const [typed, change] = useDraft(before);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState<readonly string[] | null>(null);
  const shown = fields.filter((field) => isShown(field, typed));
  const wrong = shown.filter((field) => mistakeIn(field, typed[field.name] ?? "") !== "");

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setTried(true);
    if (wrong.length > 0 || busy) return;
    setBusy(true);
    const body = bodyOf(shown, before, typed);
    // The usual choice is sent as well: without it some records can't be made.
    if (!record) for (const { name, kind } of shown) if (kind === "choice" && typed[name]) body[name] = typed[name];
    const answer = await send(body);
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return setSaved(null);
    // A secret is sent once and is not kept by the page.
    const secrets = fields.filter(({ kind }) => kind === "secret");
    change((now) => ({ ...now, ...draftOf(secrets, null) }));
    setSaved(answer.value.warnings ?? []);
    onSaved(body, answer.value.data);
  };
  const changed = shown.some(({ name }) => typed[name] !== before[name]);

  return (
    <form class="stack" onSubmit={submit} noValidate>
      {groups.map(({ title, fields: own }) => {
        const inView = own.filter((field) => isShown(field, typed));
        if (inView.length === 0) return null;
        return (
          <fieldset key={title} class="group">
            <legend>{title}</legend>
            <div class="grid">
              {inView.map((field) => (
                <Input
                  key={field.name}
                  field={field}
                  value={typed[field.name] ?? ""}
                  wrong={tried || typed[field.name] !== "" ? mistakeIn(field, typed[field.name] ?? "") : ""}
                  fixed={record !== null && field.fixed === true}
                  onChange={(value) => {
                    change((now) => ({ ...now, [field.name]: value }));
                    setSaved(null);
                  }}
                />
              ))}
            </div>
          </fieldset>
        );
      })}
      {problem && <ProblemNotice problem={problem} />}
      {saved && <Notice tone="good" title="Saved" />}
      {saved?.map((warning) => (
        <Notice key={warning} tone="warn" title={warning} />
      ))}
      <div class="actions">
        {changed && record && (
          <button type="button" class="button" onClick={() => change(() => before)}>
            Undo the changes
          </button>
        )}
        <button type="submit" class="button primary" aria-disabled={busy} disabled={record !== null && !changed}>
          {action}
        </button>
      </div>
    </form>
  );
}

interface InputProps {
  readonly field: Field;
  readonly value: string;
  readonly wrong: string;
  readonly fixed: boolean;
  readonly onChange: (value: string) => void;
}

function Input({ field, value, wrong, fixed, onChange }: InputProps) {
  const { kind, label, name, hint, choices = [], required } = field;
  if (kind === "flag") {
    return (
      <label class="check wide-field" title={name}>
        <input
          type="checkbox"
          checked={value === "true"}
          disabled={fixed}
          onChange={(event) => onChange(event.currentTarget.checked ? "true" : "")}
        />
        <span>
          {label}
          {hint && <span class="hint"> {hint}</span>}
        </span>
      </label>
    );
  }
  const typing = {
    value,
    title: name,
    spellcheck: false,
    autocomplete: "off",
    readOnly: fixed,
    "aria-required": required,
    onInput: (event: Event & { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      onChange(event.currentTarget.value),
  };
  const lines = value.split("\n").length;
  const input = (): VNode<Record<string, unknown>> => {
    if (kind === "choice") {
      return (
        <select value={value} title={name} disabled={fixed} onChange={(event) => onChange(event.currentTarget.value)}>
          {(choices.includes(value) ? choices : [value, ...choices]).map((one) => (
            <option key={one} value={one}>
              {one || "usual"}
            </option>
          ))}
        </select>
      );
    }
    if (kind === "secret") return <input type="password" {...typing} autocomplete="new-password" />;
    if (kind === "names" || kind === "pairs") return <textarea {...typing} rows={Math.min(10, Math.max(1, lines))} />;
    if (kind === "json" || kind === "long text") {
      return <textarea {...typing} class="mono" rows={Math.min(16, Math.max(4, lines + 1))} />;
    }
    if (kind === "time") return <input type="datetime-local" {...typing} />;
    return <input {...typing} inputMode={kind === "number" ? "numeric" : undefined} />;
  };
  const wide = kind === "json" || kind === "long text";
  return (
    <div class={wide ? "wide-field" : undefined}>
      <Labelled label={label} hint={hint ?? USUAL_HINTS[kind]} wrong={wrong}>
        {input()}
      </Labelled>
    </div>
  );
}

const USUAL_HINTS: Readonly<Partial<Record<Field["kind"], string>>> = {
  names: "One a line, or with commas between.",
  pairs: "name=value, one a line.",
  duration: "Like 90m, 12h or 30d.",
  secret: "Never shown. Empty: as it is.",
};
