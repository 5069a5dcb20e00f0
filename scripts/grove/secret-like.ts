/** Whole tokens of this service, of the reference and of teams. A name may begin with `s.` too, and is shorter. */
const TOKEN = /(?:^|[^\w.-])(?:(?:s|b|r)\.[\w-]{20,}|hv[sbr]\.[\w-]{8,}|grove-setup\.[\w-]{8,}|\w+\.atlasv1\.\w+)/;

/** True for a text with a part that looks like a token. An accessor is none. */
export function hasToken(text: string): boolean {
  try {
    return TOKEN.test(decodeURIComponent(text.replaceAll("+", " ")));
  } catch {
    return TOKEN.test(text);
  }
}
