const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:.]+$/i;

/** True for a text with the form of a request's id. */
export const isRequestId = (text: string): boolean => UUID.test(text);

const PART = /^[0-9a-f]{8}(?:-[0-9a-f-]{0,26})?$/i;

/** A hint for a text that may be the beginning of a request's id; "" for any other text. */
export const partOfIdText = (text: string): string =>
  PART.test(text) ? "If this is the beginning of a request's id, the whole id is needed: 36 characters" : "";

/** True for a text with the form of a client's address. */
export const isAddress = (text: string): boolean => IPV4.test(text) || IPV6.test(text);
