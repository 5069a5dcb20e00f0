/**
 * Removes ASCII white space. Shells, terminals and editors put line breaks and blanks into tokens, keys and documents
 * that people paste, and none of these has any of its own.
 */
export function withoutWhiteSpace(text: string): string {
  return text.replace(/[ \t\r\n\f\v]+/g, "");
}

const PEM = /(-----BEGIN [A-Z ]{1,40}-----)([A-Za-z0-9+/= \t\r\n]{1,16384})(-----END [A-Z ]{1,40}-----)/g;

/** Writes each block of a PEM text in lines (RFC 7468), whatever white space its lines were joined with. */
export function inPemLines(text: string): string {
  return text.replace(PEM, (_, begin: string, body: string, end: string) => {
    const lines = withoutWhiteSpace(body).match(/.{1,64}/g) ?? [];
    return [begin, ...lines, end].join("\n");
  });
}
