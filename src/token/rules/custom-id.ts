const MAX_CUSTOM_ID = 256;
const PRINTABLE = /^[\x21-\x7e]+$/;

/** Why `id` can't be a custom id, or null. The first three messages are the reference's (docs/conformance.md T8). */
export function checkCustomId(id: string): string | null {
  if (id.startsWith("hvs.")) return "custom token ID cannot have the 'hvs.' prefix";
  if (id.startsWith("s.")) return "custom token ID cannot have the 's.' prefix";
  if (id.includes(".")) return "custom token ID cannot have a '.' in the value";
  if (id.length > MAX_CUSTOM_ID) return `custom token ID cannot be longer than ${MAX_CUSTOM_ID} characters`;
  if (!PRINTABLE.test(id)) return "custom token ID can only have printable ASCII characters without spaces";
  return null;
}

/** True when `text` has the form of a custom id; no other string is looked up in the directory. */
export function couldBeCustomId(text: string): boolean {
  return text !== "" && checkCustomId(text) === null;
}
