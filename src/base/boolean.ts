const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE: ReadonlySet<string> = new Set(["", "0", "f", "F", "FALSE", "false", "False"]);

/** Reads a bool in the spellings of Go's `strconv.ParseBool`; "" is false. Null for any other text. */
export function parseFlag(text: string): boolean | null {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : null;
}
