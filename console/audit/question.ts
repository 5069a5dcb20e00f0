const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:.]+$/i;

/** True for a text with the form of a request's id. */
export const isRequestId = (text: string): boolean => UUID.test(text);

/** True for a text with the form of a client's address. */
export const isAddress = (text: string): boolean => IPV4.test(text) || IPV6.test(text);
