/**
 * Generated tokens of this service and of the reference, also cut off, those of teams, JWTs, and accessors: one long
 * word.
 */
const SECRET =
  /^(?:e[wy][\w-]+\.e[wy][\w-]+\.[\w-]+|(?:s|b|r|hvs|hvb|hvr)\.\S{8,}|\S*\.atlasv1\.\S*|[A-Za-z0-9_-]{40,})$/;
/** Whole tokens. A name may begin with `s.` too, and is shorter. */
const HAS_TOKEN =
  /(?:^|[^\w.-])((?:s|b|r)\.[\w-]{20,}|hv[sbr]\.[\w-]{8,}|\w+\.atlasv1\.\w+|e[wy][\w-]{8,}\.e[wy][\w-]+\.[\w-]+)/;

/** True for text that may be a token. It is sent in bodies alone: an address is kept by histories, proxies and logs. */
export const isSecretLike = (text: string): boolean => SECRET.test(text);

/**
 * The token in a text as it leaks, such as `VAULT_TOKEN="s.…"` or `Bearer s.…`; the text itself when it is a token as a
 * whole, or has none.
 */
export const tokenIn = (text: string): string => (isSecretLike(text) ? text : (HAS_TOKEN.exec(text)?.[1] ?? text));

/** True for an address or another text with a part that looks like a token. An accessor is none. */
export function hasToken(text: string): boolean {
  try {
    return HAS_TOKEN.test(decodeURIComponent(text.replaceAll("+", " ")));
  } catch {
    return HAS_TOKEN.test(text);
  }
}
