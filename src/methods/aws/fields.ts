/** A value that may be named back in a message: short and plain, so that no secret and no markup travels with it. */
export function isPlainWord(text: string): boolean {
  return /^[\w-]{0,32}$/.test(text);
}
