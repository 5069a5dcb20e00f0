/**
 * Control and format characters, lone surrogates, line separators: they make two names look the same in a list, or a
 * text read in another order than it is written in.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** These, and what looks like a blank or like nothing. */
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

/** The refusal of a name with misleading blanks, after the word for what it names. */
export const MISLEADING_BLANKS = "name must not have white space but single blanks between other characters";

/** True when a name can look like another one in a list, because of its blanks. A new name has none of these. */
export function hasMisleadingBlanks(name: string): boolean {
  return MISLEADING_BLANK.test(name);
}
