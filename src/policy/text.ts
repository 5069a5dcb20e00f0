const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The policy text itself: clients may send it in standard base64. A string that could be base64 but does not hold UTF-8
 * is taken as it is; decoding twice is harmless.
 */
export function decodePolicyText(text: string): string {
  const joined = text.replace(/[\r\n]/g, "");
  if (joined.length % 4 !== 0 || !BASE64.test(joined)) return text;
  const bytes = Uint8Array.from(atob(joined), (character) => character.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return text;
  }
}
