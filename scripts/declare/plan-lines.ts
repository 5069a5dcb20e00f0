import { hasToken } from "../grove/secret-detection.ts";
import { harmless, styled, type Terminal } from "../grove/terminal.ts";
import type { FieldDifference } from "./compare-fields.ts";
import type { DeclaredRequest } from "./declaration.ts";
import type { Outcome, Step } from "./plan-step.ts";

/** Names of fields whose values are never shown. `bind_secret_id` and `token_ends_with_secret_id` are true or false. */
const SECRET_FIELD =
  /(?:^|[._])(?:secret|password|jwt|token|(?:secret|private|api)_key|(?<!(?:bind|ends_with)_)secret_id)$/;
const MAX_SHOWN = 200;

/** A request by its name and where it is. */
export function placeOf({ name, line }: Pick<DeclaredRequest, "name" | "line">): string {
  return `${name} (line ${line})`;
}

/** Why the values of a field are not shown: where they come from, or that they are secret; null when they may be. */
export function hiddenBecause({ origins }: DeclaredRequest, field: string): string | null {
  const [name = field] = field.split(".");
  const fromEnvironment = origins.get(name)?.find(({ kind }) => kind === "env");
  if (fromEnvironment) return `from the environment, ${fromEnvironment.from}`;
  return SECRET_FIELD.test(field) ? "not shown" : null;
}

/** The lines that show what a step would do; empty when it does nothing. */
export function linesOfStep(terminal: Pick<Terminal, "colours">, step: Step): string[] {
  const { request, action, differences } = step;
  if (action === "none") return [];
  const [sign, style] = SIGNS[action];
  const head = styled(terminal, style, harmless(`${sign} ${request.path}`));
  const fields =
    action === "add"
      ? Object.entries(request.data).map(([field, declared]) => ({ field, declared, current: undefined }))
      : differences;
  return [`${head}  ${placeOf(request)}`, ...fields.flatMap((field) => linesOfField(request, field))];
}

const SIGNS = { add: ["+", "green"], change: ["~", "yellow"], conflict: ["!", "red"] } as const;

function linesOfField(request: DeclaredRequest, { field, declared, current }: FieldDifference): string[] {
  const hidden = hiddenBecause(request, field);
  if (hidden !== null) return [`    ${harmless(field)}: (${harmless(hidden)})`];
  if (typeof declared === "string" && declared.includes("\n")) {
    return [`    ${harmless(field)}:`, ...linesOfText(typeof current === "string" ? current : "", declared)];
  }
  const before = current === undefined ? "" : `${valueText(current)} -> `;
  return [`    ${harmless(field)}: ${before}${valueText(declared)}`];
}

/** The lines that differ, without the common lines at the beginning and the end. */
function linesOfText(from: string, to: string): string[] {
  const [old, now] = [from.trimEnd().split("\n"), to.trimEnd().split("\n")];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same++;
  let end = 0;
  while (end < old.length - same && end < now.length - same && old.at(-1 - end) === now.at(-1 - end)) end++;
  const removed = from === "" ? [] : old.slice(same, old.length - end).map((line) => `      - ${lineText(line)}`);
  return [...removed, ...now.slice(same, now.length - end).map((line) => `      + ${lineText(line)}`)];
}

function valueText(value: unknown): string {
  return lineText(JSON.stringify(value, withoutSecrets) ?? "nothing");
}

/** Leaves out the values of secret fields within an object; for `JSON.stringify`. */
export function withoutSecrets(field: string, value: unknown): unknown {
  return SECRET_FIELD.test(field) ? "(not shown)" : value;
}

function lineText(text: string): string {
  if (hasToken(text)) return "(not shown)";
  return harmless(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** Says how far the requests of a declaration were applied, after a refusal. */
export function linesOfRefusal({ applied, refused }: Outcome, all: readonly DeclaredRequest[]): string[] {
  if (refused === null) return [];
  const { request, failure } = refused;
  const rest = all.slice(all.indexOf(request) + 1);
  const status = failure.status === null ? "" : `${failure.status}: `;
  const names = (requests: readonly DeclaredRequest[]) => requests.map(({ name }) => name).join(", ") || "nothing";
  return [
    `${placeOf(request)}, ${request.path}: ${status}${harmless(failure.message)}`,
    `written before it: ${names(applied.map((step) => step.request))}; not tried: ${names(rest)}`,
  ];
}
