/** Generated tokens of this service and of the reference, team tokens, and accessors: one long word. */
const SECRET = /^(?:(?:s|b|r|hvs|hvb|hvr)\.\S{8,}|\S*\.atlasv1\.\S*|[A-Za-z0-9_-]{40,})$/;

/** True for text that may be a token. It is sent in bodies alone: an address is kept by histories, proxies and logs. */
export const isSecretLike = (text: string): boolean => SECRET.test(text);
