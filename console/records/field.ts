import { localTime, queryTime, WHOLE_TIME } from "../format.ts";

/** The kind of a field decides its input and the value that is sent. */
export type FieldKind =
  | "text"
  | "long text"
  | "secret"
  | "names"
  | "duration"
  | "time"
  | "number"
  | "flag"
  | "choice"
  | "pairs"
  | "json";

/** One field of a record of the API. */
export interface Field {
  /** Its name in the API. */
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly hint?: string;
  /** Values of a choice, the default first. */
  readonly choices?: readonly string[];
  /** Label of the empty choice. */
  readonly emptyChoice?: string;
  readonly required?: boolean;
  /** True when it can't be changed after the creation. */
  readonly fixed?: boolean;
  /** True when only the form of a new record has it, because the page of the record shows it elsewhere. */
  readonly isOnlyNew?: true;
  /** The API's default: `"true"` for a flag that is set. */
  readonly usual?: string;
  /** Prefilled in the form of a new record, and sent. */
  readonly suggested?: string;
  /** The form of its whole value, and what is said of another one. The API may take more. */
  readonly form?: { readonly pattern: RegExp; readonly wrong: string };
  /** Shown only while another field has one of these values. */
  readonly when?: readonly [field: string, ...values: string[]];
}

export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly Field[];
}

/** A mistake in a field of a form. */
export interface Mistake {
  readonly field: string;
  readonly text: string;
}

/** A record in an answer of the API. */
export type RecordValue = Readonly<Record<string, unknown>>;

/** Values of the inputs: texts, and `"true"` or `""` for a flag. */
export type Draft = Readonly<Record<string, string>>;

/** Seconds, whole days, or hours, minutes and seconds: the API does not take days together with hours. */
const DURATION = /^(\d+d?|(\d+(\.\d+)?(ms|s|m|h))+)$/;
const DURATION_HINT = "A number with s, m, h or d, like 90m or 2d";
const DAY = 86_400;
const UNITS = [
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** Seconds as a typed duration: `1h30m`; "" for 0. */
export function typedDuration(seconds: number): string {
  let rest = Math.round(seconds);
  if (rest > 0 && rest % DAY === 0) return `${rest / DAY}d`;
  let text = "";
  for (const [unit, size] of UNITS) {
    const whole = Math.floor(rest / size);
    if (whole > 0) text += `${whole}${unit}`;
    rest -= whole * size;
  }
  return text;
}

/** The seconds of a typed duration; 0 for none. */
export function secondsOf(text: string): number {
  const sizes: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: DAY, "": 1 };
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd]|)/g);
  return [...parts].reduce((sum, [, amount, unit]) => sum + Number(amount) * (sizes[unit ?? ""] ?? 0), 0);
}

/** The text of an input for a value of the API. */
export function shownValue({ kind, choices }: Field, value: unknown): string {
  if (kind === "secret") return "";
  if (kind === "flag") return value === true ? "true" : "";
  if (value === undefined || value === null) return kind === "choice" ? (choices?.[0] ?? "") : "";
  if (kind === "names") return Array.isArray(value) ? value.map(String).join("\n") : String(value);
  if (kind === "duration" && typeof value === "number") return typedDuration(value);
  if (kind === "time") return localTime(String(value));
  if (kind === "number") return value === 0 ? "" : String(value);
  if (kind === "pairs" && typeof value === "object") {
    return Object.entries(value)
      .map(([name, text]) => `${name}=${String(text)}`)
      .join("\n");
  }
  if (kind === "json" && typeof value === "object") {
    return Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2);
  }
  return Array.isArray(value) ? value.map(String).join(",\n") : String(value);
}

/** The draft of a record; null for a new one. */
export function draftOf(fields: readonly Field[], record: RecordValue | null): Draft {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      record === null && field.usual !== undefined ? field.usual : shownValue(field, record?.[field.name]),
    ]),
  );
}

/** The initial draft of a new record. */
export const suggestedDraft = (fields: readonly Field[]): Draft => ({
  ...draftOf(fields, null),
  ...Object.fromEntries(fields.flatMap(({ name, suggested }) => (suggested === undefined ? [] : [[name, suggested]]))),
});

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** The names in a text, separated by lines or commas. */
export const namesIn = (text: string): string[] => linesOf(text.replaceAll(",", "\n"));

/** The error of a field's text; "" without one. The server checks again. */
export function mistakeIn(field: Field, text: string): string {
  const value = text.trim();
  if (value === "") return field.required ? "Needed" : "";
  if (field.form && !field.form.pattern.test(value)) return field.form.wrong;
  if (field.kind === "duration" && !DURATION.test(value)) return DURATION_HINT;
  if (field.kind === "number" && !/^-?\d+$/.test(value)) return "A whole number";
  if (field.kind === "time" && queryTime(value) === "") return WHOLE_TIME;
  if (field.kind === "pairs" && linesOf(text).some((line) => !/^[^=]+=/.test(line))) return "name=value, one a line";
  if (field.kind === "json" && !isObject(value)) return 'An object in JSON, like {"name": "value"}';
  return "";
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The value to send for a valid text. */
export function sentValue({ kind }: Field, text: string): unknown {
  const value = text.trim();
  switch (kind) {
    case "flag":
      return text === "true";
    case "names":
      return namesIn(text);
    case "number":
      return value === "" ? 0 : Number(value);
    case "duration":
      return value === "" ? 0 : value;
    case "pairs":
      return Object.fromEntries(
        linesOf(text).map((line) => {
          const at = line.indexOf("=");
          return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
        }),
      );
    case "json":
      return value === "" ? {} : JSON.parse(value);
    case "time":
      return value === "" ? null : queryTime(value);
    case "long text":
      return text;
    default:
      return value;
  }
}

/** Whether a field is shown, by the values of the others. */
export function isShown({ when }: Field, draft: Draft): boolean {
  if (!when) return true;
  const [field, ...values] = when;
  return values.includes(draft[field] ?? "");
}

/** The body of a change: only the fields that differ from `before`. */
export function bodyOf(fields: readonly Field[], before: Draft, typed: Draft): Record<string, unknown> {
  const changed = fields.filter(
    (field) => isShown(field, typed) && (typed[field.name] ?? "") !== (before[field.name] ?? ""),
  );
  return Object.fromEntries(changed.map((field) => [field.name, sentValue(field, typed[field.name] ?? "")]));
}

/** The values of choices, which are sent even when they are unchanged. */
export const choicesOf = (fields: readonly Field[], typed: Draft): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name, kind }) => (kind === "choice" && typed[name] ? [[name, typed[name]]] : [])),
  );

/** The values that create the record of the form, or change an existing record to it. Secrets are placeholders. */
export function copiedValues(fields: readonly Field[], before: Draft, typed: Draft): RecordValue {
  const values = {
    ...choicesOf(fields, typed),
    ...bodyOf(fields, draftOf(fields, null), typed),
    ...bodyOf(fields, before, typed),
  };
  const secrets = fields.filter(({ name, kind }) => kind === "secret" && name in values);
  return { ...values, ...Object.fromEntries(secrets.map(({ name }) => [name, `<${name}>`])) };
}

/** Names that the paths of roles accept. */
const ROLE_NAME = /^\w(?:[\w.-]*\w)?$/;

/**
 * The mistake in the name of a new record; "" without one. A name that exists is refused, since the request would change that
 * record. Names of roles and accounts are stored in lower case.
 */
export function newNameMistake(name: string, names: readonly string[], isRole = false): string {
  if (isRole && !ROLE_NAME.test(name))
    return "A name has letters without accents, digits and _, and between them also - and .";
  const there = names.includes(name) ? name : name.toLowerCase();
  return names.includes(there) ? `There is ${there} already: change it on its page, or choose another name` : "";
}

/** True for a field with names of policies (patterns do not count). */
export const namesPolicies = ({ name, kind }: Field): boolean => kind === "names" && /(?:^|[_-])policies$/.test(name);

/** A warning about unknown policies in a field; "" without any. A role may name a policy before it exists. */
export function unknownPoliciesText(field: Field, text: string, known: ReadonlySet<string> | null): string {
  const typed = namesPolicies(field) && known ? namesIn(text) : [];
  const unknown = typed.filter((name) => !known?.has(name.toLowerCase()));
  return unknown.length === 0 ? "" : `There is no policy ${unknown.join(", ")}: it grants nothing until it is made.`;
}
