/** One long word: tokens of this service and of the reference, also truncated ones, tokens of teams, and accessors. */
const SECRET = /^(?:(?:s|b|r|hvs|hvb|hvr)\.\S{8,}|\S*\.atlasv1\.\S*|[A-Za-z0-9_-]{40,})$/;
/** A token within a text. A name may also begin with `s.`, but is shorter. */
const HAS_TOKEN = /(?:^|[^\w.-])((?:s|b|r)\.[\w-]{20,}|hv[sbr]\.[\w-]{8,}|\w+\.atlasv1\.\w+)/;
/**
 * Credentials that clients log in with, and others that often leak: JWTs, key ids of AWS, tokens of GitHub and GitLab.
 */
const HAS_LOGIN =
  /(?:^|[^\w.-])(e[wy][\w-]{8,}\.e[wy][\w-]{8,}\.[\w-]+|A(?:KI|SI)A[A-Z0-9]{16}|gh[opsru]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})/;
/** A secret key of AWS, by its alphabet and length. */
const SECRET_KEY = /^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)[A-Za-z0-9/+]{40}$/;
/** A token after the name of a field or variable, or after the scheme `Bearer`. */
const NAMED_TOKEN = /(?:token["']?\s*[:=]|\bbearer\s)\s*["']?([\x21-\x7e]+?)["',;]*$/i;
/** Shorter texts are neither searched for nor accepted as custom ids. */
const SHORTEST = 3;
/** A text of at least this length with a digit may be the custom id of a token. */
const MAY_BE_CHOSEN = 16;

/** True for a text that may be a token, which is sent in bodies only: browser histories, proxies and logs keep URLs. */
export const isSecretLike = (text: string): boolean =>
  SECRET.test(text) || SECRET_KEY.test(text) || HAS_LOGIN.exec(text)?.[1] === text;

/**
 * True for a text that the server must be asked about, in a body, before a URL may contain it: a custom id can have any
 * form.
 */
export const mayBeToken = (text: string): boolean => text.length >= SHORTEST && !/\s/.test(text);

/** The same decision when the server can't be asked. Plain words count as words, since the search needs them. */
export const looksChosen = (text: string): boolean =>
  isSecretLike(text) || (text.length >= MAY_BE_CHOSEN && /\d/.test(text) && !/\s/.test(text));

/**
 * The token in a text in which tokens often leak, such as `VAULT_TOKEN="s.…"` or `Bearer s.…`; otherwise the text itself.
 */
export const tokenIn = (text: string): string =>
  isSecretLike(text)
    ? text
    : (HAS_TOKEN.exec(text)?.[1] ?? HAS_LOGIN.exec(text)?.[1] ?? NAMED_TOKEN.exec(text)?.[1] ?? text);

/** How many different tokens are in a text, of which `tokenIn` takes the first. */
export const countTokens = (text: string): number =>
  new Set(Array.from(text.matchAll(new RegExp(HAS_TOKEN, "g")), ([, token]) => token)).size;

/** True for a URL or a text that contains something like a token. An accessor does not count. */
export function hasToken(text: string): boolean {
  const decoded = decodedText(text);
  return HAS_TOKEN.test(decoded) || HAS_LOGIN.test(decoded);
}

function decodedText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
