/**
 * Reads a value that this installation wrote as JSON. The one place where stored text gets a type without a check: a row that decides
 * about access has a seal, and readers of rows without one compare them with their tree.
 */
export function storedJson<T>(text: string): T {
  return JSON.parse(text);
}
