/** Control and format characters, lone surrogates, line separators: they make two names look like one in a listing. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** True when a name holds a character that is not seen. */
export function hasUnprintable(name: string): boolean {
  return UNPRINTABLE.test(name);
}

/** The form in which two names are compared: their case does not matter. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
