import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";
import type { Judged } from "./find-judgements.ts";
import { BY_FORM, MAX_LOOSE, type TextToFind, textsToFind } from "./find-texts.ts";
import { UsedSecretIds } from "./used-secret-ids.ts";

interface JudgedText {
  readonly text: TextToFind;
  readonly judged: Judged;
}

/** Most texts of an input that are asked about, to find the one that is known. */
const MAX_ASKED = 64;

/** Identifies the one text of an input as `find` does. Of several, such as those of a mail, the one that is known. */
export async function judgeOne(
  session: Pick<Session, "client" | "terminal">,
  given: string,
): Promise<Called<JudgedText>> {
  const used = new UsedSecretIds(session);
  const whole = textsToFind(given);
  if (whole.length === 0) return failed("there is no text: give it on standard input");
  const texts = whole.length === 1 ? whole : textsToFind(given, BY_FORM, MAX_LOOSE);
  const all: JudgedText[] = [];
  for (const text of texts.length > MAX_ASKED ? [] : texts) {
    const judged = await used.judge(text);
    if (!judged.ok) return judged;
    all.push({ text, judged: judged.value });
  }
  const [one, second] = all.length === 1 ? all : all.filter(isKnown);
  return one && !second
    ? ok(one)
    : failed(`this is more than one text: give one; ${asCalled("find")} says what each is`);
}

/** A possible secret of the deployment is not sent, so nothing is known of it. */
const isKnown = ({ text, judged: { state } }: JudgedText): boolean =>
  text.candidates.length > 0 && state !== "unknown" && state !== "elsewhere";
