import { Api } from "../api.ts";
import { belowMount } from "../methods/mount-paths.ts";
import { type Answer, done, failed } from "../result.ts";
import { type BegunLogin, callbackPath } from "./begun-login.ts";
import type { Credential } from "./credential.ts";
import type { ProviderAnswer } from "./oidc-callback.ts";

/** The browser goes to the provider and comes back. */
export interface RedirectLogin {
  readonly kind: "redirect";
  readonly address: string;
  readonly begun: BegunLogin;
}

/** The user opens the URL, here or on another device, and this page polls until the login is done. */
export interface DeviceLogin {
  readonly kind: "device";
  readonly address: string;
  /** The code that the user types or compares there; "" when it is not known. */
  readonly userCode: string;
  readonly everyMs: number;
  readonly credential: Credential;
}

/** A login that continues at the identity provider. */
export type ProviderLogin = RedirectLogin | DeviceLogin;

/** The login with the provider's answer, whose `state` was already checked. */
export const withAnswer = ({ mount, clientNonce }: BegunLogin, answer: ProviderAnswer): Credential =>
  callbackOf(mount, { ...answer, client_nonce: clientNonce });

export const callbackOf = (mount: string, fields: ProviderAnswer): Credential => ({
  kind: "login",
  path: belowMount(mount, "oidc/callback"),
  fields,
});

interface AuthUrl {
  readonly auth_url: string;
  readonly state?: string;
  readonly user_code?: string;
  readonly poll_interval?: string | number;
}

const NONCE_BYTES = 32;
const USUAL_INTERVAL_S = 5;

/** The redirect URI, which `allowed_redirect_uris` of the role must list. */
export const redirectUri = (mount: string): string => window.location.origin + callbackPath(mount);

/** Begins a login at a mount. @param role "" for its default role */
export async function beginProviderLogin(mount: string, role: string): Promise<Answer<ProviderLogin>> {
  const clientNonce = randomText();
  const fields = { redirect_uri: redirectUri(mount), client_nonce: clientNonce, ...(role !== "" && { role }) };
  const answer = await new Api("").call<AuthUrl>(belowMount(mount, "oidc/auth_url"), { body: fields });
  if (!answer.ok) return answer;
  const { auth_url: address = "", state, user_code: userCode = "", poll_interval: interval } = answer.value.data;
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) return problem("The method gave no address to sign in at.");
  if (state !== undefined && interval !== undefined) {
    const credential: Credential = {
      kind: "login",
      path: belowMount(mount, "oidc/poll"),
      fields: { state, client_nonce: clientNonce },
    };
    const everyMs = 1000 * (Number(interval) || USUAL_INTERVAL_S);
    // A provider that puts the code into the URL still asks the user to compare it (RFC 8628, section 3.3.1).
    const shown = userCode || (url.searchParams.get("user_code") ?? "");
    return done({ kind: "device", address, userCode: shown, everyMs, credential });
  }
  const sent = url.searchParams.get("state");
  if (!sent) return problem("The address to sign in at has no state.");
  const place = window.location.pathname + window.location.search;
  return done({ kind: "redirect", address, begun: { mount, state: sent, clientNonce, place } });
}

const problem = (message: string): Answer<never> => failed({ status: 0, messages: [message], requestId: "" });

function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
