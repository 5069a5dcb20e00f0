import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import type { FoundText, Lineage } from "../answer-schemas.ts";
import { prose } from "../prose.ts";
import { harmless, type Style, styled, type Terminal } from "../terminal.ts";
import { type FoundContext, type Judged, mayBeAlive } from "./find-judgements.ts";
import { nextSteps } from "./find-next-steps.ts";
import { failingLine } from "./leases.ts";
import { askerText, countText, pairsText, shortTime } from "./token-lines.ts";

const STYLES: Readonly<Record<Judged["state"], Style>> = {
  live: "red",
  refused: "yellow",
  unjudged: "red",
  ended: "green",
  mistyped: "yellow",
  elsewhere: "yellow",
  unknown: "dim",
};

export const wordOf = (state: Judged["state"]): string => (state === "unjudged" ? "not judged" : state);

/**
 * The lines about a text.
 *
 * @param where the lines of the text; "" for a single text.
 * @param context null without an answer about the text.
 */
export function linesOf(terminal: Terminal, judged: Judged, where: string, context: FoundContext | null): string[] {
  const head = headLines(terminal, judged, where);
  if (!("chosen_id" in judged) || context === null) return head;
  return [
    ...head,
    ...factLines(terminal, judged, context.lineage),
    ...unrevokedLines(judged),
    ...nextSteps(judged, context),
  ];
}

/** What the text is. @param where as in `linesOf`. */
export function headLines(terminal: Terminal, { state, message }: Judged, where = ""): string[] {
  const word = wordOf(state);
  const [first = "", ...more] = prose(terminal, `${word}${where}: ${harmless(message)}`);
  return [styled(terminal, STYLES[state], first.slice(0, word.length)) + first.slice(word.length), ...more];
}

/** Leases whose secrets outlive their token, and how they are sent again. */
function unrevokedLines({ kind, unrevoked_leases: leases }: FoundText): string[] {
  // What was removed by force is not sent again.
  if (!leases || (leases.waiting + leases.failing === 0 && !leases.more)) return [];
  return [
    ...leases.failures.map(failingLine),
    kind === "lease"
      ? `  sends it again, once its service answers: ${asCalled("contain -")} (which reads the text as this command does)`
      : `  sends them again, once their service answers: ${asCalled("leases --retry")}`,
    `  (${helpAsCalled("docs/runbook.md")}, Leases are not revoked)`,
  ];
}

export function factLines(terminal: Terminal, found: FoundText, lineage: Lineage | null = null): string[] {
  const { state, token, ended, credential, chosen_id: isChosen, entities = [] } = found;
  const about = token ?? credential;
  const facts: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ["name", about?.display_name],
    ["accessor", about?.accessor],
    ["id", isChosen ? "chosen by root" : ""],
    ["made by", credential?.created_by || madeByText(lineage)],
    ["path", about?.path],
    ["role", token?.role],
    ["policies", about?.policies.join(", ")],
    ["entity", about?.entity_id],
    [
      "of entity",
      entities.map(({ id, name, disabled }) => `${name} (${id}${disabled ? ", disabled" : ""})`).join(", "),
    ],
    ["holds", found.wrapped_accessor],
    ["metadata", about && pairsText(about.metadata)],
    ["created", about?.created && shortTime(about.created)],
    ["ends", about && mayBeAlive(found) ? (about.expires === null ? "never" : shortTime(about.expires)) : ""],
    ["uses left", token && mayBeAlive(found) && token.uses_left > 0 ? String(token.uses_left) : ""],
    ["last used", token?.last_used && `in the hour from ${shortTime(token.last_used)}`],
    ["below it", token && state !== "ended" && token.children > 0 ? childrenText(token.children) : ""],
    ["leases", lineage && lineage.leases.count > 0 ? `${countText(lineage.leases, "lease")}, with those below it` : ""],
    ["ends with", credential?.parent],
    [
      "ended",
      ended && `${shortTime(ended.at)}, ${ended.how}${ended.by ? ` by ${askerText(ended.by, "a token")}` : ""}`,
    ],
    ["by request", ended?.request_id],
    ["by job", ended?.job],
  ];
  return facts
    .filter(([, value]) => value)
    .flatMap(([name, value]) => prose(terminal, harmless(value ?? ""), " ".repeat(13), `  ${name.padEnd(10)} `));
}

/** The parent, with its owner: it made the token. */
function madeByText(lineage: Lineage | null): string {
  const parent = lineage?.ancestors.at(-1);
  if (!parent) return "";
  const entity = parent.entity_id === "" ? "" : `, of the entity ${parent.entity_id}`;
  return `its parent, ${askerText(parent)}${entity}`;
}

/** The list counts only the children of a token; `tree` counts all descendants. */
const childrenText = (count: number): string =>
  `${count} ${count === 1 ? "child" : "children"}, with all below ${count === 1 ? "it" : "them"}`;
