/** The accessor of a token; that of a secret-id, which has no page, has another form. */
export const isTokenAccessor = (text: string): boolean => /^[\w-]{84}$/.test(text);

/** In a line of a log, an answer or a link of the console. The ids of leases end in texts of the same form. */
const IN_TEXT = /(?:[\s"'=:,]|\/ui\/tokens\/)([\w-]{84})(?![\w-])/;
/** The end of one, as the console shows it. */
const SHORTENED = /^\(?…([\w-]{10})\)?$/;

/** The accessor in a text, or its end, which the search takes too; otherwise the text itself. */
export const accessorIn = (text: string): string => (IN_TEXT.exec(text) ?? SHORTENED.exec(text))?.[1] ?? text;
