/** Control and format characters, lone surrogates, line separators: they make two names look the same in a list. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** True when a name contains an invisible character. */
export function hasUnprintable(name: string): boolean {
  return UNPRINTABLE.test(name);
}

/** The key under which names are compared without regard to case. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
