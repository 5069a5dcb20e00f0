/** Reads a value that this installation wrote as JSON. Its shape is not checked again: seals and the schema vouch for it. */
export function storedJson<T>(text: string): T {
  return JSON.parse(text);
}
