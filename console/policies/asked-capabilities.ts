import { isTokenAccessor } from "../tokens/token-accessor.ts";

/** Whose capabilities are asked for. */
export type Subject = "policy" | "self" | "other";

/** The field of a request that names another token. A text that is no accessor may be a token, also a custom id. */
export const nameOfToken = (text: string) => (isTokenAccessor(text) ? { accessor: text } : { token: text });

/** The endpoint for the capabilities of a policy, of the own token, or of a token by its accessor or id. */
export function capabilitiesPath(subject: Subject, more: object): string {
  if (subject !== "other") return `sys/capabilities-${subject}`;
  return "token" in more ? "sys/capabilities" : "sys/capabilities-accessor";
}

/**
 * The path that policies match, of one that is copied from a log or a browser, and the fields of its query, which they
 * match as parameters.
 */
export function askedPath(typed: string) {
  const [asked = "", query = ""] = typed
    .trim()
    .replace(/^\/?(v1\/)?/, "")
    .split("?", 2);
  return { asked, parameters: Object.fromEntries(new URLSearchParams(query)) };
}
