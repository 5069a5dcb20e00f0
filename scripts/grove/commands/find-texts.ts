import { err, ok, type Result } from "../../../src/base/result.ts";
import { base64TextsIn } from "../../../src/crypto/base64-texts.ts";
import type { Line } from "../../local/long-lines.ts";
import {
  credentialsIn,
  DeploymentSecretLines,
  deploymentSecretsIn,
  documentLine,
  looseTextsIn,
  tokensIn,
  valueIn,
  wholeTokensIn,
} from "../secret-detection.ts";
import { UUID } from "../uuid.ts";
import { WrappedText } from "./wrapped-text.ts";

/** A text to ask about, and where it was read. */
export interface TextToFind {
  /** Numbers of the first lines that have it, from 1. */
  readonly lines: readonly number[];
  /** How many further lines have it. */
  readonly others: number;
  /** What may be a token in it, the likeliest first. Empty when the text must not be sent. */
  readonly candidates: readonly string[];
}

/** The message for a text that may be a secret of the deployment and was not sent. */
export const DEPLOYMENT_SECRET_KEPT =
  "By its form, its name or a name near it this may be a seal key, an init token or a cluster key: it was not sent to the server.";

/** Most characters of a multi-line identity document. */
const MAX_DOCUMENT = 12_000;
/** Most line numbers that are kept for a text. */
const MAX_LINES = 1_000;
/** Most UUIDs and lease ids in input of several lines that are asked about without a name beside them: a log has too many. */
export const MAX_LOOSE = 32;
/** Most secrets of the deployment that are remembered, to recognise them where they have no name. */
const MAX_SECRETS = 100;

/** The texts of a line to ask about. */
type CandidatesOf = (line: string) => readonly (readonly string[])[];

/** Only texts with the form of a token or of another credential, in base64 too: most lines of a log have none. */
export const BY_FORM: CandidatesOf = (line) => [
  ...credentialsIn(line).map((token) => [token]),
  // All of a value may be a secret-id, which has no form without its name.
  ...base64TextsIn(line).flatMap((text) => (UUID.test(text.trim()) ? [[text.trim()]] : inDecoded(text))),
];

const inDecoded = (text: string): (readonly string[])[] =>
  textsToFind(text, BY_FORM).map(({ candidates }) => candidates);

/**
 * A line without such a text is asked about as a whole, and by the value that it assigns: a custom id has no fixed form.
 */
export const WHOLE_LINES: CandidatesOf = (line) => {
  const tokens = BY_FORM(line);
  const whole = tokens.length === 0 ? wholeLine(line) : [];
  const isKnown = (text: string) => whole.includes(text) || tokens.flat().some((one) => one.includes(text));
  const loose = looseTextsIn(line).filter((text) => !isKnown(text));
  if (tokens.length > 0) return [...tokens, ...loose.map((text) => [text])];
  const [first, ...others] = loose;
  return [first === undefined ? whole : [...whole, first], ...others.map((text) => [text])];
};

function wholeLine(line: string): string[] {
  const value = valueIn(line);
  return value === "" || value === line ? [line] : [line, value];
}

/** Collects the texts to ask about from lines, each once. A possible secret of the deployment is never asked about. */
export class FoundTexts {
  readonly #candidatesOf: CandidatesOf;
  readonly #near = new DeploymentSecretLines();
  readonly #secrets: Set<string>;
  readonly #texts = new Map<string, { lines: number[]; others: number; candidates: readonly string[] }>();
  /** The last line that was not blank, held back because the next line may say that it has a secret. */
  #held: (Line & { readonly isNear: boolean }) | null = null;

  /** The end of a line that the next lines may continue. */
  #wrapped: WrappedText | null = null;

  /** The lines read so far of a multi-line identity document. */
  #document: { readonly number: number; text: string } | null = null;

  readonly #mostLoose: number;
  /** UUIDs and lease ids that have no name beside them, each with the first line that has it. */
  readonly #loose = new Map<string, number>();

  /**
   * @param secrets of the deployment that are in the lines.
   * @param mostLoose UUIDs and ids of leases without a name, beyond which none of them is asked about.
   */
  constructor(candidatesOf: CandidatesOf, secrets: readonly string[] = [], mostLoose = 0) {
    this.#candidatesOf = candidatesOf;
    this.#secrets = new Set(secrets);
    this.#mostLoose = mostLoose;
  }

  /** True when there are more UUIDs and ids of leases without a name than are asked about. */
  get hasMoreLoose(): boolean {
    return this.#loose.size > this.#mostLoose;
  }

  /** Number of texts that were found and not taken yet. */
  get size(): number {
    return this.#texts.size;
  }

  add({ number, text }: Line): void {
    const line = text.trim();
    if (line === "") return;
    const { begins, continues } = documentLine(line);
    const document = this.#document;
    if (document && continues && document.text.length < MAX_DOCUMENT) {
      document.text += line;
      return;
    }
    this.#addDocument();
    if (begins) {
      this.#document = { number, text: line };
      return;
    }
    const { here, above } = this.#near.next(line);
    this.#addHeld(above);
    this.#held = { number, text: line, isNear: here };
  }

  /** Returns the texts that were found, and forgets them. @param isEnd no further line comes. */
  take(isEnd: boolean): TextToFind[] {
    if (isEnd) {
      this.#addDocument();
      this.#addHeld(false);
      this.#endWrapped();
      this.#keepLoose();
    }
    const texts = [...this.#texts.values()];
    this.#texts.clear();
    return texts;
  }

  #addDocument(): void {
    const document = this.#document;
    this.#document = null;
    if (document) this.#keep(document.number, [document.text]);
  }

  #addHeld(hasSecret: boolean): void {
    const held = this.#held;
    this.#held = null;
    if (held === null) return;
    for (const secret of deploymentSecretsIn(held.text))
      if (this.#secrets.size < MAX_SECRETS) this.#secrets.add(secret);
    const isSecret = hasSecret || held.isNear || [...this.#secrets].some((secret) => held.text.includes(secret));
    if (this.#wrapped?.takes(held, isSecret) !== true) this.#endWrapped();
    const open = isSecret || this.#wrapped ? null : WrappedText.beginningIn(held);
    for (const candidates of isSecret ? beside(held.text) : this.#candidatesOf(held.text))
      if (!open || open.alone !== candidates[0]) this.#keep(held.number, candidates);
    this.#wrapped ??= open;
    for (const text of isSecret || this.#mostLoose === 0 ? [] : looseTextsIn(held.text))
      if (!this.hasMoreLoose && !this.#loose.has(text)) this.#loose.set(text, held.number);
  }

  #keepLoose(): void {
    if (this.hasMoreLoose) return;
    const known = [...this.#texts.values()].flatMap(({ candidates }) => candidates);
    for (const [text, line] of this.#loose) if (!known.some((one) => one.includes(text))) this.#keep(line, [text]);
    this.#loose.clear();
  }

  #endWrapped(): void {
    const wrapped = this.#wrapped;
    this.#wrapped = null;
    if (wrapped === null) return;
    for (const candidates of wrapped.candidates((joined) => BY_FORM(joined).flat()))
      this.#keep(wrapped.number, candidates);
  }

  #keep(line: number, candidates: readonly string[]): void {
    const key = candidates.join("\n");
    const known = this.#texts.get(key) ?? { lines: [], others: 0, candidates };
    this.#texts.set(key, known);
    if (known.lines.at(-1) === line) return;
    if (known.lines.length < MAX_LINES) known.lines.push(line);
    else known.others++;
  }
}

/** Finds the texts to ask about in a whole text. */
export function textsToFind(given: string, candidatesOf: CandidatesOf = WHOLE_LINES, mostLoose?: number): TextToFind[] {
  const found = new FoundTexts(candidatesOf, deploymentSecretsIn(given), mostLoose);
  for (const [at, text] of given.split("\n").entries()) found.add({ number: at + 1, text });
  return found.take(true);
}

/** Of a line near a secret of the deployment, only whole tokens are asked about: anything else may be the secret. */
const beside: CandidatesOf = (line) => [...wholeTokensIn(line).map((token) => [token]), []];

/** The message about an input with several tokens, or with a text that is not one word. */
export const MORE_THAN_ONE = "this is more than one text: give one token";

/**
 * The one token in the input, such as VAULT_TOKEN=…, else the whole input, as a custom id has no fixed form. A possible
 * secret of the deployment is never taken for a token. The error does not repeat the input.
 */
export function oneTokenIn(given: string): Result<string, string> {
  const hasSecret = textsToFind(given).some(({ candidates }) => candidates.length === 0);
  const tokens = hasSecret ? wholeTokensIn(given) : tokensIn(given);
  if (hasSecret && tokens.length === 0) return err(DEPLOYMENT_SECRET_KEPT);
  const [token = given] = tokens;
  return tokens.length > 1 || /\s/.test(token) ? err(MORE_THAN_ONE) : ok(token);
}
