/** Generated tokens of this service and of the reference, also cut off, those of teams, and accessors: one long word. */
const SECRET = /^(?:(?:s|b|r|hvs|hvb|hvr)\.\S{8,}|\S*\.atlasv1\.\S*|[A-Za-z0-9_-]{40,})$/;
/** Whole tokens. A name may begin with `s.` too, and is shorter. */
const HAS_TOKEN = /(?:^|[^\w.-])((?:s|b|r)\.[\w-]{20,}|hv[sbr]\.[\w-]{8,}|\w+\.atlasv1\.\w+)/;
/** What clients log in with, and what leaks beside it: JWTs, ids of keys of AWS, tokens of GitHub and GitLab. */
const HAS_LOGIN =
  /(?:^|[^\w.-])(e[wy][\w-]{8,}\.e[wy][\w-]{8,}\.[\w-]+|A(?:KI|SI)A[A-Z0-9]{16}|gh[opsru]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})/;
/** A secret key of AWS: such characters without a name in them. */
const SECRET_KEY = /^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)[A-Za-z0-9/+]{40}$/;
/** A token behind the name of the field, of the variable or of the scheme. */
const NAMED_TOKEN = /(?:token["']?\s*[:=]|\bbearer\s)\s*["']?([\x21-\x7e]+?)["',;]*$/i;
/** Shorter texts are not searched for, and no ids that somebody has chosen for a token. */
const SHORTEST = 3;
/** A text that is not shorter, and has a digit, may be the id that somebody has chosen for a token. */
const MAY_BE_CHOSEN = 16;

/** True for text that may be a token. It is sent in bodies alone: an address is kept by histories, proxies and logs. */
export const isSecretLike = (text: string): boolean =>
  SECRET.test(text) || SECRET_KEY.test(text) || HAS_LOGIN.exec(text)?.[1] === text;

/**
 * True for text that the server is asked about, in a body, before an address gets it: root may choose any id for a token,
 * so that it has no form to be known by.
 */
export const mayBeToken = (text: string): boolean => text.length >= SHORTEST && !/\s/.test(text);

/** The same where the server can't be asked: words are taken for words, which the search could not do without. */
export const looksChosen = (text: string): boolean =>
  isSecretLike(text) || (text.length >= MAY_BE_CHOSEN && /\d/.test(text) && !/\s/.test(text));

/**
 * The token in a text as it leaks, such as `VAULT_TOKEN="s.…"` or `Bearer s.…`; the text itself when it is a token as a
 * whole, or has none.
 */
export const tokenIn = (text: string): string =>
  isSecretLike(text)
    ? text
    : (HAS_TOKEN.exec(text)?.[1] ?? HAS_LOGIN.exec(text)?.[1] ?? NAMED_TOKEN.exec(text)?.[1] ?? text);

/** True for an address or another text with a part that looks like a token. An accessor is none. */
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
