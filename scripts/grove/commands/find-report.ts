import { asCalled } from "../../local/command-line.ts";
import { sayProse } from "../prose.ts";
import type { Session } from "../terminal.ts";
import { contextOf, isAlive, type Judged, mayBeAlive } from "./find-judgements.ts";
import { linesOf, wordOf } from "./find-lines.ts";
import { outlivingLines } from "./find-next-steps.ts";
import type { TextToFind } from "./find-texts.ts";
import { isLeft, outliving } from "./held-credentials.ts";
import { number } from "./token-lines.ts";

/** In the order of the totals. */
const STATES: readonly Judged["state"][] = ["live", "refused", "unjudged", "mistyped", "elsewhere", "ended", "unknown"];

/** The exit code when no text can be used, and some could not be judged, or resemble a token that can. */
const NOT_JUDGED = 3;

/** Shows answers as they come, and counts them. */
export class Report {
  readonly #session: Session;
  readonly #hasLines: boolean;
  readonly #showsAll: boolean;
  readonly #counts = new Map<Judged["state"], number>();
  /** The first lines of the texts in each state. */
  readonly #lines = new Map<Judged["state"], number[]>();
  #canBeUsed = false;
  #mayBeUsed = false;
  /** Whether something that outlives a text can be used: a lease's secret, what a wrapping token held, a login's token. */
  #hasSecrets = false;
  /** Whether it is not known what outlives a text. */
  #isUnknown = false;

  /** @param hasLines whether answers name the lines of their texts. @param showsAll also texts that nothing is known of. */
  constructor(session: Session, hasLines: boolean, showsAll: boolean) {
    this.#session = session;
    this.#hasLines = hasLines;
    this.#showsAll = showsAll;
  }

  async show(text: TextToFind, judged: Judged): Promise<void> {
    const { client, terminal, json } = this.#session;
    // Accessors and ids of leases are no secrets, and logs are full of accessors.
    const isAccessor =
      "chosen_id" in judged &&
      [judged.token, judged.credential].some((one) => text.candidates.includes(one?.accessor ?? ""));
    if (!this.#showsAll && isAccessor) return;
    const isSecret = !isAccessor && judged.kind !== "lease";
    this.#counts.set(judged.state, this.#count(judged.state) + 1);
    this.#canBeUsed ||= isSecret && isAlive(judged);
    this.#mayBeUsed ||= isSecret && "chosen_id" in judged && mayBeAlive(judged);
    this.#hasSecrets ||= "unrevoked_leases" in judged && judged.unrevoked_leases !== undefined;
    const lines = this.#lines.get(judged.state) ?? [];
    this.#lines.set(judged.state, lines);
    if (lines.length < SUMMED_LINES) lines.push(...text.lines.slice(0, SUMMED_LINES - lines.length));
    if (!this.#showsAll && judged.state === "unknown" && judged.kind === "") return;
    const where = this.#hasLines ? `, ${linesText(text)}` : "";
    const { others } = text;
    const left = await outliving(this.#session, judged);
    this.#isUnknown ||= left?.ok === false;
    this.#hasSecrets ||= left?.ok === true && isLeft(left.value);
    if (json) {
      const place = { lines: text.lines, ...(others > 0 && { more_lines: others }) };
      const held = left?.ok && {
        held_alive: [...left.value.tokens, ...left.value.secretIds.map((one) => one.accessor)],
      };
      terminal.out(JSON.stringify({ ...place, ...judged, ...held }));
    } else {
      const context = "chosen_id" in judged ? await contextOf(client, judged) : null;
      for (const line of linesOf(terminal, judged, where, context)) terminal.out(line);
      for (const line of outlivingLines(judged, left)) terminal.out(line);
    }
  }

  /**
   * Shows the totals. Returns the exit code. @param lines number of lines in which only texts with the form of a credential
   * were looked for; null for a whole text. @param hasMoreLoose whether UUIDs were left out.
   */
  end(lines: number | null, hasMoreLoose = false): number {
    const { terminal } = this.#session;
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    const parts = STATES.flatMap((state) => {
      const count = this.#count(state);
      return count === 0 ? [] : [`${count} ${wordOf(state)}${this.#where(state)}`];
    });
    const counts = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
    if (lines === null && all > 1) terminal.say(`${number(all, "text")}${counts}`);
    if (lines !== null)
      sayProse(
        terminal,
        `${number(lines, "line")}, ${number(all, "text")} in the form of a token or another credential${counts}.${hasMoreLoose ? ` Its UUIDs are too many to ask about: ${asCalled("find")} of the lines that have a secret-id does.` : ""} Ids and secret-ids that were chosen have no form: --whole-lines asks about each line.`,
      );
    if (this.#canBeUsed || this.#hasSecrets) return 1;
    return this.#count("unjudged") > 0 || this.#mayBeUsed || this.#isUnknown ? NOT_JUDGED : 0;
  }

  /** Names the lines with such a text, as in ` (lines 2, 7, …)`; "" when answers name no lines. */
  #where(state: Judged["state"]): string {
    const lines = [...new Set(this.#lines.get(state))].sort((a, b) => a - b);
    if (!this.#hasLines || lines.length === 0) return "";
    const more = lines.length === SUMMED_LINES ? ", …" : "";
    return ` (${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}${more})`;
  }

  #count(state: Judged["state"]): number {
    return this.#counts.get(state) ?? 0;
  }
}

/** `line 3`, `lines 3, 7 and 12 others`. */
function linesText({ lines, others: uncounted }: TextToFind): string {
  const shown = lines.slice(0, SHOWN_LINES).join(", ");
  const others = lines.length - SHOWN_LINES + uncounted;
  return `${lines.length === 1 ? "line" : "lines"} ${shown}${others > 0 ? ` and ${number(others, "other")}` : ""}`;
}

const SHOWN_LINES = 3;
/** Most lines that the totals name of a state. */
const SUMMED_LINES = 20;
