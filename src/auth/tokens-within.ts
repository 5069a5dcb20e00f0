import { base64TextsIn } from "../crypto/base64-texts.ts";
import { BATCH_PREFIX, SERVICE_PREFIX, SERVICE_TOKEN_LENGTH } from "../token/ids.ts";
import type { CredentialFormat } from "./credential.ts";

/** A text that may be a token, and how it stands in a longer text. */
interface TokenWithin {
  readonly text: string;
  /** Words for people: what is around it, or missing. */
  readonly how: string;
}

const BODY = SERVICE_TOKEN_LENGTH - SERVICE_PREFIX.length;
const SERVICE = new RegExp(String.raw`s\.[\w-]{${BODY}}`, "g");
/** A double click stops at the dot. An accessor has the same form. */
const BARE_SERVICE = new RegExp(String.raw`(?<![\w-])[\w-]{${BODY}}(?![\w-])`, "g");
/** A lookahead: a token that is glued to another begins within its match. */
const BATCH = /(?=(b\.[\w-]{100,}))/g;
const BARE_BATCH = /(?<![\w.-])[\w-]{100,}/g;

/** Most characters of a text that are looked through. */
const MAX_SEARCHED = 65_536;
/** Most tokens of a text that are looked up. */
const MAX_WITHIN = 50;
/** How often base64 is decoded: a file in base64 may be a Kubernetes Secret, whose data are in base64. */
const MAX_DEPTH = 2;

/**
 * Finds what may be a token in a longer text: between other characters, glued to another token, without its prefix, and
 * in base64. Each has to be read, as only its tag or seal shows that it is one.
 *
 * @returns `isAll` false: the text has more than is looked at.
 */
export function tokensWithin(formats: readonly CredentialFormat[], texts: readonly string[]) {
  const found = new Map<string, TokenWithin>();
  for (const text of new Set(texts))
    for (const token of within(formats, text.slice(0, MAX_SEARCHED), 0))
      if (!found.has(token.text)) found.set(token.text, token);
  const isAll = found.size <= MAX_WITHIN && texts.every(({ length }) => length <= MAX_SEARCHED);
  return { tokens: [...found.values()].slice(0, MAX_WITHIN), isAll };
}

function within(formats: readonly CredentialFormat[], text: string, depth: number): TokenWithin[] {
  const delimited = [SERVICE, ...formats.map((format) => format.within)].flatMap((form) => [...text.matchAll(form)]);
  const batches = [...text.matchAll(BATCH)];
  const starts = [...delimited, ...batches].map(({ index }) => index);
  // A batch token has no fixed length: what is glued to its end begins with another token.
  const batch = batches.flatMap(({ index, 1: longest = "" }) => [
    longest,
    ...starts.flatMap((start) => (start > index ? [longest.slice(0, start - index)] : [])),
  ]);
  const bare = [
    ...[...text.matchAll(BARE_SERVICE)].map(([body]) => SERVICE_PREFIX + body),
    ...[...text.matchAll(BARE_BATCH)].map(([body]) => BATCH_PREFIX + body),
  ];
  const decoded = depth === MAX_DEPTH ? [] : base64TextsIn(text).flatMap((one) => within(formats, one, depth + 1));
  return [
    ...[...delimited.map(([token]) => token), ...batch].map((token) => ({
      text: token,
      how: "A token is in this text.",
    })),
    ...bare.map((token) => ({ text: token, how: `This is a token without its beginning “${token.slice(0, 2)}”.` })),
    ...decoded.map((token) => ({ ...token, how: "A token is in this text, in base64." })),
  ];
}
