import { clientNetworks } from "../../../base/client-network.ts";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { nameKey } from "../../../base/name.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { isRoleName } from "../../roles.ts";
import { jwtAuthAt } from "../jwt-auth.ts";
import type { OidcAttempt } from "./checks.ts";
import {
  type CodeLogin,
  challengeOf,
  MAX_CLIENT_NONCE,
  newSecret,
  PENDING_MS,
  type PendingLogin,
  pendingRow,
} from "./pending.ts";
import { isAllowedRedirect } from "./redirects.ts";
import type { BrowserLogin } from "./role.ts";
import { browserRole, type KnownProvider, knownProvider } from "./verify.ts";

/** What a client begins a login with. */
export interface Beginning {
  readonly role: string;
  readonly redirectUri: string;
  readonly clientNonce: string;
}

/** A login that was begun, as the client gets it. */
interface BegunLogin {
  readonly authUrl: string;
  /** For a client that asks for the result. */
  readonly poll?: { readonly state: string; readonly interval: number; readonly userCode?: string };
}

/** Begins a login: stores what it remembers, and returns the address where the person signs in. */
export async function beginLogin(attempt: OidcAttempt, beginning: Beginning): Promise<Result<BegunLogin>> {
  const { env, mount, checks } = attempt;
  const now = currentTime();
  const asked = nameKey(beginning.role);
  if (asked !== "" && !isRoleName(asked)) return checks.record("role", {}, refuse("role could not be found"));
  const settings = await jwtAuthAt(env, mount).readLogin(asked);
  const known = await knownProvider(attempt, settings.config, null, now);
  if (!known.ok) return known;
  const role = browserRole(attempt, settings);
  if (!role.ok) return role;
  const { browser } = role.value;
  if (beginning.clientNonce.length > MAX_CLIENT_NONCE) return refuse("client_nonce is too long");
  if (browser.callbackMode !== "client") return refuse("this callback_mode is not served yet");
  const { redirectUri } = beginning;
  if (redirectUri === "") return refuse("missing redirect_uri");
  if (!isAllowedRedirect(redirectUri, browser.redirectUris)) {
    const message = "the redirect_uri is none of the allowed_redirect_uris of the role";
    return checks.record("oidc_redirect", {}, refuse(message));
  }
  return beginByCode(attempt, known.value, { ...beginning, role: settings.roleName }, browser, now);
}

async function beginByCode(
  attempt: OidcAttempt,
  { config, provider, client }: KnownProvider,
  beginning: Beginning,
  browser: BrowserLogin,
  now: Ms,
): Promise<Result<BegunLogin>> {
  if (provider.authorization === null) return err(NO_ENDPOINT);
  const ownPage = config.responseMode === "form_post" ? pageOfConsole(beginning.redirectUri) : null;
  const pending: CodeLogin = {
    kind: "code",
    revision: config.revision,
    redirectUri: ownPage ? `${ownPage.origin}/v1/auth/${attempt.mount.path}oidc/callback` : beginning.redirectUri,
    nonce: newSecret(),
    verifier: newSecret(),
    ...(ownPage && { returnTo: beginning.redirectUri }),
  };
  const state = await store(attempt, beginning, pending, now + PENDING_MS, now);
  const url = new URL(provider.authorization);
  const parameters = {
    response_type: "code",
    client_id: client.id,
    redirect_uri: pending.redirectUri,
    scope: [...new Set(["openid", ...browser.scopes])].join(" "),
    state,
    nonce: pending.nonce,
    code_challenge: await challengeOf(pending.verifier),
    code_challenge_method: "S256",
    ...(config.responseMode === "form_post" && { response_mode: "form_post" }),
    ...(browser.maxAge > 0 && { max_age: String(browser.maxAge) }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return ok({ authUrl: url.href });
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
