/** The errors of a provider in words for the user (RFC 6749, OpenID Connect Core). */
const WORDS: Readonly<Record<string, string>> = {
  access_denied: "The identity provider refused: somebody declined there, or you may not use this client.",
  invalid_request: "The identity provider did not accept the request: the client or its address is set up wrong.",
  unauthorized_client: "The identity provider does not let this client sign people in.",
  unsupported_response_type: "The identity provider does not let this client use the authorization code flow.",
  invalid_scope: "The identity provider does not know a scope that the role asks for (oidc_scopes).",
  server_error: "The identity provider had an error. Try again, or ask who runs it.",
  temporarily_unavailable: "The identity provider can't answer now. Try again later.",
  interaction_required: "The identity provider needs you to do something there first. Sign in there, and try again.",
  login_required: "You have to sign in at the identity provider first.",
  account_selection_required: "You have to choose an account at the identity provider.",
  consent_required: "You have to agree at the identity provider that this client may know you.",
};

const OF_PROVIDER = /^Vault login failed\. (\w+)$/;

/** The messages of methods of which nothing is set. */
const NOT_SET: ReadonlySet<string> = new Set(["could not load configuration", "could not load backend configuration"]);

/**
 * The words for a server message about an error of the provider, with the name of the error, or about a method at
 * `mount` without settings; any other message unchanged.
 */
export function loginText(message: string, mount: string): string {
  if (NOT_SET.has(message)) return `auth/${mount}/ has no provider yet: its settings are missing (${message}).`;
  const [, code = ""] = OF_PROVIDER.exec(message) ?? [];
  return Object.hasOwn(WORDS, code) ? `${WORDS[code]} (${code})` : message;
}

/** Most characters of a description. */
const MOST = 200;

/** The provider's description as one line of printable text. */
export const boundedText = (text: string): string => {
  const line = text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu, " ").trim();
  return [...line].length > MOST ? `${[...line].slice(0, MOST).join("")}…` : line;
};
