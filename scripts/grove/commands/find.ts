import { ok } from "../../../src/base/result.ts";
import { FOUND_TEXT, type FoundText } from "../answers.ts";
import { type Called, failed } from "../client.ts";
import { prose } from "../flow.ts";
import { harmless, type Session, type Style, styled, type Terminal } from "../terminal.ts";
import { number, pairsText, shortTime } from "./token-lines.ts";

/** Most texts of one call, one a line. */
const MAX_TEXTS = 100;

const STYLES: Readonly<Record<FoundText["state"], Style>> = {
  live: "red",
  refused: "yellow",
  ended: "green",
  mistyped: "yellow",
  elsewhere: "yellow",
  unknown: "dim",
};

/**
 * Says of each text what it is. Texts come from standard input or are typed without an echo: what stands in a command
 * line is seen by other users of the machine and kept in histories. The exit code is 1 when one of them can be used, or could be
 * again.
 */
export async function findTexts({ client, terminal, json }: Session): Promise<Called<number>> {
  const given = await terminal.secret("Text to look for (it is not shown): ");
  const texts = given
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (texts.length === 0) return failed("there is no text: give it on standard input, one a line");
  if (texts.length > MAX_TEXTS) return failed(`these are ${texts.length} lines: give at most ${MAX_TEXTS}`);
  let isOneLive = false;
  for (const text of texts) {
    const found = await client.post("sys/tokens/find", FOUND_TEXT, { token: text });
    if (!found.ok) return found;
    isOneLive ||= isAlive(found.value);
    if (json) terminal.out(JSON.stringify(found.value));
    else for (const line of linesOf(terminal, found.value)) terminal.out(line);
  }
  return ok(isOneLive ? 1 : 0);
}

/** A refused token is as dangerous as a live one once its entity is enabled. */
const isAlive = ({ state }: FoundText): boolean => state === "live" || state === "refused";

function linesOf(terminal: Terminal, found: FoundText): string[] {
  const { state, message, token, ended, credential, chosen_id: isChosen } = found;
  const about = token ?? credential;
  const facts: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ["name", about?.display_name],
    ["accessor", about?.accessor],
    ["id", isChosen ? "chosen by root" : ""],
    ["path", about?.path],
    ["role", token?.role],
    ["policies", about?.policies.join(", ")],
    ["entity", about?.entity_id],
    ["metadata", about && pairsText(about.metadata)],
    ["created", about?.created && shortTime(about.created)],
    ["ends", about && isAlive(found) ? (about.expires === null ? "never" : shortTime(about.expires)) : ""],
    ["last used", token?.last_used && `in the hour from ${shortTime(token.last_used)}`],
    ["below it", token && token.children > 0 ? number(token.children, "token") : ""],
    ["ends with", credential?.parent],
    ["ended", ended && `${shortTime(ended.at)}, ${ended.how}${askerText(ended.by)}`],
    ["by request", ended?.request_id],
  ];
  const shown = facts.filter(([, value]) => value);
  // A mistyped one shows the token that it resembles.
  const isThis = isAlive(found) || state === "ended";
  const next = token && isThis ? [`  who made it, and what it did: grove audit ${token.accessor}`] : [];
  if (isAlive(found) && token) next.push(`  revoke it with all below: grove contain --accessor ${token.accessor}`);
  const [first = "", ...more] = prose(terminal, `${state}: ${harmless(message)}`);
  return [
    styled(terminal, STYLES[state], first.slice(0, state.length)) + first.slice(state.length),
    ...more,
    ...shown.flatMap(([name, value]) =>
      prose(terminal, harmless(value ?? ""), " ".repeat(13), `  ${name.padEnd(10)} `),
    ),
    ...next,
  ];
}

function askerText(by: NonNullable<FoundText["ended"]>["by"]): string {
  return by ? ` by ${by.display_name || "a token"} ${by.accessor}`.trimEnd() : "";
}
