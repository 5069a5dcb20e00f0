import { nameKey } from "../../../base/case-folding.ts";
import { clientNetworks } from "../../../base/client-network.ts";
import { currentTime, type Ms, type Seconds } from "../../../base/clock.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { isRoleName } from "../../role-name.ts";
import { jwtAuthAt } from "../jwt-auth.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import type { BrowserLogin } from "./browser-role.ts";
import { type ExchangeError, refusalText } from "./code-exchange.ts";
import { beginAtProvider } from "./device-flow.ts";
import { newUserCode } from "./direct-callback.ts";
import {
  type CodeLogin,
  challengeOf,
  type DeviceLogin,
  type DirectLogin,
  MAX_CLIENT_NONCE,
  newSecret,
  PENDING_MS,
  type PendingLogin,
  pendingRow,
} from "./pending-login-state.ts";
import { browserRole, type KnownProvider, knownProvider, LOGIN_FAILED } from "./provider-and-role.ts";
import { isAllowedRedirect, meantCallback } from "./redirect-uris.ts";

/** What a client begins a login with. */
export interface Beginning {
  readonly role: string;
  readonly redirectUri: string;
  readonly clientNonce: string;
}

/** A login that was begun, as the client gets it. */
export interface BegunLogin {
  readonly authUrl: string;
  /** For a client that asks for the result. */
  readonly poll?: { readonly state: string; readonly interval: number; readonly userCode?: string };
}

/** Begins a login: stores its state, and returns the address where the person signs in. */
export async function beginLogin(attempt: OidcAttempt, beginning: Beginning): Promise<Result<BegunLogin>> {
  const { env, mount, checks } = attempt;
  const now = currentTime();
  const asked = nameKey(beginning.role);
  if (asked !== "" && !isRoleName(asked)) return checks.record("role", {}, refuse("role could not be found"));
  const settings = await jwtAuthAt(env, mount).readLogin(asked);
  const known = await knownProvider(attempt, settings.config, null);
  if (!known.ok) return known;
  const role = browserRole(attempt, settings);
  if (!role.ok) return role;
  const { browser } = role.value;
  if (beginning.clientNonce.length > MAX_CLIENT_NONCE) return refuse("client_nonce is too long");
  if (beginning.clientNonce === "" && browser.callbackMode !== "client") return refuse("missing client_nonce");
  const named = { ...beginning, role: settings.roleName };
  if (browser.callbackMode === "device") return beginOnDevice(attempt, known.value, named, browser, now);
  if (beginning.redirectUri === "") return refuse("missing redirect_uri");
  const isDirect = browser.callbackMode === "direct";
  const redirectUri = isDirect ? meantCallback(beginning.redirectUri, mount.path) : beginning.redirectUri;
  if (!isAllowedRedirect(redirectUri, browser.redirectUris)) {
    const message = "the redirect_uri is none of the allowed_redirect_uris of the role";
    return checks.record("oidc_redirect", {}, refuse(message));
  }
  return beginByCode(attempt, known.value, { ...named, redirectUri }, browser, now);
}

async function beginByCode(
  attempt: OidcAttempt,
  { config, provider, client }: KnownProvider,
  beginning: Beginning,
  browser: BrowserLogin,
  now: Ms,
): Promise<Result<BegunLogin>> {
  if (provider.authorization === null) return err(NO_ENDPOINT);
  const login = { revision: config.revision, nonce: newSecret(), verifier: newSecret() };
  const pending =
    browser.callbackMode === "direct"
      ? directLogin(attempt, login, beginning.redirectUri)
      : codeLogin(attempt, login, beginning.redirectUri, config.responseMode === "form_post");
  const state = await store(attempt, beginning, pending, now + PENDING_MS, now);
  const url = new URL(provider.authorization);
  const parameters = {
    response_type: "code",
    client_id: client.id,
    redirect_uri: pending.redirectUri,
    scope: scopeOf(browser),
    state,
    nonce: pending.nonce,
    code_challenge: await challengeOf(pending.verifier),
    code_challenge_method: "S256",
    ...(config.responseMode === "form_post" && { response_mode: "form_post" }),
    ...(browser.maxAge > 0 && { max_age: String(browser.maxAge) }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (pending.kind === "code") return ok({ authUrl: url.href });
  const interval = browser.pollInterval || USUAL_INTERVAL;
  return ok({ authUrl: url.href, poll: { state, interval, userCode: pending.userCode } });
}

/** Default interval at which a client polls. */
const USUAL_INTERVAL: Seconds = 5;

type NewCodeLogin = Pick<CodeLogin, "revision" | "nonce" | "verifier">;

function codeLogin({ mount }: OidcAttempt, login: NewCodeLogin, redirectUri: string, isPosted: boolean): CodeLogin {
  const page = isPosted ? pageOfConsole(redirectUri) : null;
  if (!page) return { kind: "code", ...login, redirectUri };
  return {
    kind: "code",
    ...login,
    redirectUri: `${page.origin}/v1/auth/${mount.path}oidc/callback`,
    returnTo: redirectUri,
  };
}

function directLogin({ clientAddress }: OidcAttempt, login: NewCodeLogin, redirectUri: string): DirectLogin {
  const userCode = newUserCode();
  return { kind: "direct", ...login, redirectUri, userCode, clientAddress, wrongCodes: 0, progress: "asking" };
}

function scopeOf({ scopes }: BrowserLogin): string {
  return [...new Set(["openid", ...scopes])].join(" ");
}

/** Begins a login that a person consents to on any device (RFC 8628). */
async function beginOnDevice(
  attempt: OidcAttempt,
  known: KnownProvider,
  beginning: Beginning,
  browser: BrowserLogin,
  now: Ms,
): Promise<Result<BegunLogin>> {
  if (known.provider.deviceAuthorization === null) return err(NO_ENDPOINT);
  const device = await beginAtProvider(known, scopeOf(browser));
  if (!device.ok) return attempt.checks.record("oidc_device", {}, err(deviceFailure(device.error)));
  const { deviceCode, verifier, url, userCode, expiresIn } = device.value;
  const interval = browser.pollInterval || device.value.interval;
  const pending: DeviceLogin = {
    kind: "device",
    revision: known.config.revision,
    deviceCode,
    ...(verifier !== undefined && { verifier }),
    interval,
    nextPollAt: now,
  };
  const state = await store(attempt, beginning, pending, now + expiresIn * 1000, now);
  return ok({ authUrl: url, poll: { state, interval, ...(userCode !== "" && { userCode }) } });
}

function deviceFailure(error: ExchangeError): Failure {
  if (error.kind === "no answer") return serviceUnavailable(`the device endpoint of the provider: ${error.message}`);
  return invalid(`${LOGIN_FAILED} The device endpoint of the provider: ${refusalText(error.code)}`);
}

const NO_ENDPOINT = {
  code: "invalid_request",
  message: "the provider names no endpoint for this kind of login that may be used",
} as const;

/** Stores a login, and returns its state. */
async function store(
  attempt: OidcAttempt,
  { role, clientNonce }: Beginning,
  pending: PendingLogin,
  expiresAt: Ms,
  now: Ms,
): Promise<string> {
  const { env, mount, clientAddress } = attempt;
  const state = newSecret();
  const network = clientAddress === null ? "" : (clientNetworks(clientAddress).at(-1) ?? "");
  const row = await pendingRow(attempt, pending, { state, role, clientNonce, network }, expiresAt);
  await jwtAuthAt(env, mount).beginLogin(row, now);
  return state;
}

/** A page of the console can't take a form that is posted: the provider posts it to the API beside the page. */
function pageOfConsole(redirectUri: string): URL | null {
  const url = new URL(redirectUri);
  return url.pathname.startsWith("/ui/") ? url : null;
}
