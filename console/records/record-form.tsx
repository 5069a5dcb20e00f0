import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Envelope } from "../api.ts";
import { addressedValues } from "../href.ts";
import { type Needs, needsOf } from "../needed-capabilities.ts";
import { notSent, type Problem } from "../result.ts";
import { refusalOfParts } from "../search/secret-in-address.ts";
import { useSession } from "../session.ts";
import {
  AllowedButton,
  Field as Labelled,
  Notice,
  SendProblem,
  TimeInput,
  useDraft,
  useTried,
  Warnings,
  Working,
} from "../ui/index.ts";
import { CopyAs } from "./copy-as.tsx";
import {
  bodyOf,
  choicesOf,
  copiedValues,
  type Draft,
  draftOf,
  type Field,
  type FieldGroup,
  isShown,
  type Mistake,
  mistakeIn,
  namesIn,
  namesPolicies,
  type RecordValue,
  suggestedDraft,
  unknownPoliciesText,
} from "./field.ts";
import type { FormRequest, TerraformRecord } from "./request-commands.ts";
import { useKnownPolicies } from "./use-known-policies.ts";

export interface RecordFormProps<T> {
  readonly groups: readonly FieldGroup[];
  /** The current record; null for a new one. */
  readonly record: RecordValue | null;
  /** The label of the button. */
  readonly action: string;
  /** The request for the changed values. */
  readonly request: (values: RecordValue) => FormRequest;
  /** The mistake in a field that depends on the other values, checked when each field is valid by itself. */
  readonly mistake?: (values: RecordValue) => Mistake | null;
  /** Converts the values of the fields to the values that are sent. */
  readonly resolve?: (values: RecordValue) => RecordValue;
  /** Names that a field of names offers, by field. Other fields of policies offer the policies. */
  readonly offered?: Readonly<Record<string, readonly string[]>>;
  readonly terraform?: TerraformRecord | undefined;
  /** Shown while the request runs. */
  readonly working?: string;
  /** Called with each typed or chosen value. */
  readonly onTyped?: (name: string, value: string) => void;
  /** Closes the dialog of the form. */
  readonly onCancel?: () => void;
  /** Called with the sent values and the answer. */
  readonly onSaved: (values: RecordValue, data: T, answer: Envelope<T>) => void;
}

const NOTHING_TYPED: Draft = {};

const asTheyAre = (values: RecordValue): RecordValue => values;

/** A form that makes or changes a record. It sends only changed fields. */
export function RecordForm<T>(props: RecordFormProps<T>) {
  const {
    groups,
    record,
    action,
    request,
    mistake,
    resolve = asTheyAre,
    offered,
    terraform,
    working,
    onTyped,
    onCancel,
    onSaved,
  } = props;
  const session = useSession();
  const { api } = session;
  const fields = groups.flatMap((group) => group.fields);
  const before = draftOf(fields, record);
  // A new record has no loaded values: what was typed stays when another field comes into the form.
  const [draft, change] = useDraft<Draft>(record ? before : NOTHING_TYPED);
  const typed = record ? draft : { ...suggestedDraft(fields), ...draft };
  const [tried, attempt] = useTried();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState<Envelope<T> | null>(null);
  const shown = fields.filter((field) => isShown(field, typed));
  // The default choice is sent too: some records can't be made without it.
  const valuesNow = () => ({ ...(!record && choicesOf(shown, typed)), ...bodyOf(shown, before, typed) });
  const alone = shown.filter((field) => mistakeIn(field, typed[field.name] ?? "") !== "");
  const together = alone.length === 0 ? (mistake?.(valuesNow()) ?? null) : null;
  const wrong = together ? shown.filter(({ name }) => name === together.field) : alone;
  const wrongOf = (field: Field): string =>
    together?.field === field.name ? together.text : mistakeIn(field, typed[field.name] ?? "");
  // The path of a new record contains its name, so its capabilities are asked for when the field loses the focus.
  const [left, setLeft] = useState(0);
  const needs = useMemo((): Needs | null => {
    if (alone.length > 0) return null;
    const { path, method } = request(resolve(valuesNow()));
    return needsOf(path, method);
  }, [left]);

  const changed = shown.some(({ name }) => typed[name] !== before[name]);
  const isSame = record !== null && !changed;

  const submit = async (event: Event): Promise<void> => {
    if (!attempt(event, wrong.length === 0) || busy || isSame) return;
    const values = resolve(valuesNow());
    setBusy(true);
    const { path, ...options } = request(values);
    const refusal = await refusalOfParts(session, addressedValues(path, values));
    const answer = refusal === "" ? await api.call<T>(path, options) : notSent(refusal);
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return setSaved(null);
    // The page does not keep a secret after it was sent.
    const secrets = fields.filter(({ kind }) => kind === "secret");
    change((now) => ({ ...now, ...draftOf(secrets, null) }));
    setSaved(answer.value);
    onSaved(values, answer.value.data, answer.value);
  };
  const policies = useKnownPolicies(fields.some(namesPolicies));

  return (
    <form class="stack" onSubmit={submit} onChange={() => setLeft((before) => before + 1)} noValidate>
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
                  wrong={tried || typed[field.name] !== "" ? wrongOf(field) : ""}
                  warning={unknownPoliciesText(field, typed[field.name] ?? "", policies)}
                  offered={offered?.[field.name] ?? (namesPolicies(field) && policies ? [...policies] : [])}
                  fixed={record !== null && field.fixed === true}
                  onChange={(value) => {
                    change((now) => ({ ...now, [field.name]: value }));
                    setSaved(null);
                    onTyped?.(field.name, value);
                  }}
                />
              ))}
            </div>
          </fieldset>
        );
      })}
      {tried && wrong.length > 0 && (
        <p class="wrong" role="alert">
          Nothing was sent. {wrong.length === 1 ? "This field is" : "These fields are"} not right yet:{" "}
          {wrong.map(({ label }) => label).join(", ")}.
        </p>
      )}
      {busy && <Working text={working} />}
      <SendProblem problem={problem} />
      {saved && <Notice tone="good" title="Saved" />}
      <Warnings of={saved} />
      <div class="actions">
        {changed && record && (
          <button type="button" class="button" onClick={() => change(() => before)}>
            Undo the changes
          </button>
        )}
        {onCancel && (
          <button type="button" class="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <AllowedButton look="button primary" needs={needs} busy={busy} idle={isSame ? "nothing is changed" : ""}>
          {action}
        </AllowedButton>
      </div>
      <CopyAs
        values={alone.length > 0 ? null : resolve(copiedValues(shown, before, typed))}
        request={request}
        fields={fields}
        terraform={terraform}
      />
    </form>
  );
}

interface InputProps {
  readonly field: Field;
  readonly value: string;
  readonly wrong: string;
  /** A warning about a value that is valid but probably a mistake. */
  readonly warning: string;
  /** Names that can be added to a field of names. */
  readonly offered: readonly string[];
  readonly fixed: boolean;
  readonly onChange: (value: string) => void;
}

function Input({ field, value, wrong, warning, offered, fixed, onChange }: InputProps) {
  const { kind, label, name, hint, choices = [], emptyChoice = "usual", required } = field;
  if (kind === "flag") {
    return (
      <div class="wide-field check-row">
        <label class="check">
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
        <code>{name}</code>
      </div>
    );
  }
  const typing = {
    value,
    name,
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
        <select value={value} disabled={fixed} onChange={(event) => onChange(event.currentTarget.value)}>
          {(choices.includes(value) ? choices : [value, ...choices]).map((one) => (
            <option key={one} value={one}>
              {one || emptyChoice}
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
    if (kind === "time") return <TimeInput {...{ value, name, readOnly: fixed }} onTime={onChange} />;
    return <input {...typing} inputMode={kind === "number" ? "numeric" : undefined} />;
  };
  const wide = kind === "json" || kind === "long text";
  return (
    <div class={wide ? "wide-field" : undefined}>
      <Labelled
        label={label}
        name={name.includes(" ") ? undefined : name}
        hint={hint ?? USUAL_HINTS[kind]}
        wrong={wrong}
      >
        {input()}
      </Labelled>
      {offered.length > 0 && !fixed && <AddName offered={offered} value={value} onChange={onChange} />}
      {warning !== "" && (
        <p class="small warning" role="status">
          {warning}
        </p>
      )}
    </div>
  );
}

/** Adds an existing name to a field of names. */
function AddName({ offered, value, onChange }: Pick<InputProps, "value" | "offered" | "onChange">) {
  const typed = namesIn(value);
  const others = offered.filter((name) => !typed.includes(name)).sort();
  if (others.length === 0) return null;
  return (
    <select
      class="add-name"
      aria-label="Add an existing name"
      value=""
      onChange={({ currentTarget }) => onChange([...typed, currentTarget.value].join("\n"))}
    >
      <option value="">Add one…</option>
      {others.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const USUAL_HINTS: Readonly<Partial<Record<Field["kind"], string>>> = {
  names: "One a line, or with commas between.",
  pairs: "name=value, one a line.",
  duration: "Like 90m, 12h or 30d.",
  number: "A whole number.",
  json: 'An object in JSON, like {"name": "value"}.',
  secret: "Never shown. Empty: as it is.",
};
