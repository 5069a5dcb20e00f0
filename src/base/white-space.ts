/**
 * Removes white space, no-break spaces and byte order marks too. Shells, terminals, editors and web pages put them into
 * tokens, keys and documents that people paste, and none of these has any of its own.
 */
export function withoutWhiteSpace(text: string): string {
  return text.replace(/\s+/g, "");
}

const PEM = /(-----BEGIN [A-Z ]{1,40}-----)([A-Za-z0-9+/=\s]{1,16384})(-----END [A-Z ]{1,40}-----)/g;

/** Writes each block of a PEM text in lines (RFC 7468), whatever white space its lines were joined with. */
export function inPemLines(text: string): string {
  return text.replace(PEM, (_, begin: string, body: string, end: string) => {
    const lines = withoutWhiteSpace(body).match(/.{1,64}/g) ?? [];
    return [begin, ...lines, end].join("\n");
  });
}
