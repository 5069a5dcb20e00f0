import { LAST_CHECKS, type LoginAttempt } from "../../../auth/login-attempt.ts";
import { CLAIM_CHECKS } from "../claim-checks.ts";
import { SIGNATURE_CHECKS } from "../signed-token.ts";
import type { BrowserLogin } from "./browser-role.ts";

/** Descriptions of the checks that only logins through a browser have. */
export const BROWSER_CHECKS = {
  oidc_redirect: "The address to return to is one of those that the role allows.",
  oidc_device: "The provider begins a login on any device. For the callback mode device.",
  oidc_state: "The login was begun here, is not too old, and was not continued by another request.",
  oidc_client_nonce: "The client is the one that began the login.",
  oidc_answer: "The provider consented, and it is the provider that was asked (iss).",
  oidc_exchange: "The provider gave tokens for its answer, to the one who asked for it (PKCE).",
  oidc_issuer: "The issuer (iss) is exactly the one of the discovery document.",
  oidc_nonce: "The ID token repeats the nonce of the login.",
  oidc_access_token: "The access token belongs to the ID token, where that has an at_hash.",
  oidc_groups: "Microsoft Graph lists the groups that the ID token leaves out. With the provider azure.",
  oidc_age: "The person signed in at the provider lately enough, if the role has a max_age.",
} as const;

/** Descriptions of the checks of a login through a browser. */
export const OIDC_CHECKS = {
  role: "The role exists, and takes logins through a browser.",
  configuration: "The mount is a client of a provider, the same as when the login began.",
  address: "The client's address is in a network that the role is bound to.",
  ...BROWSER_CHECKS,
  ...SIGNATURE_CHECKS,
  ...CLAIM_CHECKS,
  ...LAST_CHECKS,
} as const;

export type OidcAttempt = LoginAttempt<keyof typeof OIDC_CHECKS>;

/** Records the checks of a login that an explanation can't make, as it has no answer of the provider. */
export function explainBrowserChecks(
  { maxAge, redirectUris, callbackMode }: BrowserLogin,
  checks: LoginAttempt<keyof typeof BROWSER_CHECKS>["checks"],
): void {
  if (callbackMode !== "device") checks.assume("oidc_redirect", { bound: redirectUris }, null);
  if (callbackMode === "device") checks.assume("oidc_device", {}, null);
  checks.assume("oidc_state", {}, null);
  checks.assume("oidc_client_nonce", {}, null);
  if (callbackMode !== "device") checks.assume("oidc_answer", {}, null);
  checks.assume("oidc_exchange", {}, null);
  if (callbackMode !== "device") checks.assume("oidc_nonce", {}, null);
  checks.assume("oidc_access_token", {}, null);
  if (maxAge > 0) checks.assume("oidc_age", { bound: [`max_age ${maxAge} s`] }, null);
}
