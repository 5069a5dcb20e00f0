/**
 * Control and format characters, lone surrogates, line separators: they make two names look the same in a list, or a
 * text read in another order than it is written in.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** The characters of `UNPRINTABLE`, and characters that are shown as a blank or not at all. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
const ASCII = /^[\x20-\x7e]*$/;

/** Blanks at the ends or in a row, other white space, and characters that are shown as nothing. */
const MISLEADING_BLANK = /^ | $| {2}|(?! )[\s\u2800\p{Default_Ignorable_Code_Point}]/u;

/** True when a name contains an invisible character. */
export function hasUnprintable(name: string): boolean {
  return UNPRINTABLE.test(name);
}

/** Replaces each character of a text that is not shown as itself by what `escapeOf` returns for it. */
export function escapeUnprintable(text: string, escapeOf: (character: string) => string): string {
  return ASCII.test(text) ? text : text.replace(MISLEADING, escapeOf);
}

/** The message for a name with misleading blanks. The caller puts the kind of the named thing before it. */
export const MISLEADING_BLANKS = "name must not have white space but single blanks between other characters";

/** True when a name can look like another name because of its blanks. Only new names are refused for that. */
export function hasMisleadingBlanks(name: string): boolean {
  return MISLEADING_BLANK.test(name);
}
