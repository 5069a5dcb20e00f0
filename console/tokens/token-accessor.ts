/** The accessor of a token; that of a secret-id, which has no page, has another form. */
export const isTokenAccessor = (text: string): boolean => /^[\w-]{84}$/.test(text);
