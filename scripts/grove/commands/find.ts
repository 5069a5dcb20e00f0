import { ok } from "../../../src/base/result.ts";
import type { Line } from "../../local/long-lines.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";
import { Report } from "./find-report.ts";
import { BY_FORM, FoundTexts, MAX_LOOSE, type TextToFind, textsToFind } from "./find-texts.ts";
import { number } from "./token-lines.ts";
import { UsedSecretIds } from "./used-secret-ids.ts";

/** Texts that are asked about in parallel. */
const AT_ONCE = 16;
/** Most distinct texts that are kept before they are asked about, so that each is asked about once. */
const MAX_KEPT = 10_000;

/**
 * Looks up every token in a text. The text comes from standard input or is typed without an echo: other users of the machine
 * see a command line, and shells keep it. The exit code is 1 when a token can be used or could become usable again, else 3
 * when one can't be judged, or lacks or has other characters than a token that can be used.
 *
 * @param wholeLines whether each of several lines is also asked about as a whole, for custom ids.
 */
export async function findTexts(session: Session, wholeLines: boolean): Promise<Called<number>> {
  const { terminal } = session;
  if (!terminal.piped || wholeLines) return findInWhole(session);
  const input = terminal.lines()[Symbol.asyncIterator]();
  const first: Line[] = [];
  // A single line may be a custom id. In several lines only texts with the form of a credential are looked for.
  while (first.length < 2) {
    const { value, done } = await input.next();
    if (done) return findInWhole(session, first[0]?.text ?? "");
    if (value.text.trim() !== "") first.push(value);
  }
  return findInLines(session, first, input);
}

/** Looks up the texts of an input that is read as a whole. */
async function findInWhole(session: Session, read?: string): Promise<Called<number>> {
  const given = read ?? (await session.terminal.secret("Text to look for, one line (it is not shown): "));
  const texts = textsToFind(given);
  if (texts.length === 0) return failed("there is no text: give it on standard input");
  const used = new UsedSecretIds(session);
  const report = new Report(session, given.trim().includes("\n"), true);
  const asked = await judgeAll(session, used, texts, report);
  return asked.ok ? ok(report.end(null)) : asked;
}

/** Looks up texts with the form of a credential in a stream of lines. */
async function findInLines(
  session: Session,
  first: readonly Line[],
  input: AsyncIterator<Line>,
): Promise<Called<number>> {
  const texts = new FoundTexts(BY_FORM, [], MAX_LOOSE);
  const used = new UsedSecretIds(session);
  const report = new Report(session, true, false);
  let last = 0;
  for (const line of first) texts.add(line);
  for (let next = await input.next(); !next.done; next = await input.next()) {
    texts.add(next.value);
    last = next.value.number;
    if (last % SHOWN_EVERY === 0) session.terminal.progress(number(last, "line"));
    if (texts.size < MAX_KEPT) continue;
    const asked = await judgeAll(session, used, texts.take(false), report);
    if (!asked.ok) return asked;
  }
  const asked = await judgeAll(session, used, texts.take(true), report);
  return asked.ok ? ok(report.end(Math.max(last, first.at(-1)?.number ?? 0), texts.hasMoreLoose)) : asked;
}

/** Lines between two updates of the progress. */
const SHOWN_EVERY = 10_000;

async function judgeAll({ terminal }: Session, used: UsedSecretIds, texts: readonly TextToFind[], report: Report) {
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    if (texts.length > 1) terminal.progress(`${at} of ${number(texts.length, "text")}`);
    const group = texts.slice(at, at + AT_ONCE);
    const judged = await Promise.all(group.map((text) => used.judge(text)));
    terminal.progress(null);
    for (const [index, text] of group.entries()) {
      const one = judged[index];
      if (!one?.ok) return one ?? failed("");
      await report.show(text, one.value);
    }
  }
  return ok(null);
}
