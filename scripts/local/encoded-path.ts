/** A path as it stands in an address: each segment is encoded, because names in it may have any characters. */
export function encodedPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
