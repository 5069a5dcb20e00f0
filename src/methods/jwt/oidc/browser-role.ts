import type { Seconds } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { Values } from "../../../wire/field-schema.ts";
import { duration, flag, integer, list, sent, text } from "../../../wire/fields.ts";
import type { ViewFields } from "../../../wire/view.ts";
import { redirectProblem } from "./redirect-uris.ts";

const CALLBACK_MODES = ["client", "device", "direct"] as const;

/**
 * Where the answer of the provider goes. "client": to the client, which passes it on. "device": nowhere; the client
 * polls until a person has consented on any device (RFC 8628). "direct": to this server, which the client polls.
 */
type CallbackMode = (typeof CALLBACK_MODES)[number];

/** How clients of a role log in through a browser. */
export interface BrowserLogin {
  readonly redirectUris: readonly string[];
  /** Besides `openid`. */
  readonly scopes: readonly string[];
  readonly callbackMode: CallbackMode;
  /** How old the person's sign-in at the provider may be; 0: any. */
  readonly maxAge: Seconds;
  /** How often a client asks again; 0: as the provider says. */
  readonly pollInterval: Seconds;
}

/** What a role says about logins through a browser. Without `browser` its clients present a token. */
export interface RoleBrowser {
  readonly browser?: BrowserLogin;
  /** What was sent for a role whose clients present a token: kept and shown, without effect. */
  readonly unusedBrowser?: BrowserLogin;
}

export const BROWSER_FIELDS = {
  allowed_redirect_uris: sent(list()).describe(
    "Addresses that logins may return to, exactly; loopback http addresses with any port",
  ),
  oidc_scopes: sent(list()).describe("Scopes besides `openid`"),
  callback_mode: sent(text()).describe("`client`, `device` or `direct`: who gets the answer of the provider"),
  poll_interval: sent(integer()).describe("Seconds between two questions of a waiting client; default 5"),
  max_age: sent(duration()).describe("Greatest age of the sign-in at the provider"),
  oidc_disable_confirmation: sent(flag(false)).describe("Refused: a login by `direct` is always confirmed"),
};

type BrowserFields = Values<typeof BROWSER_FIELDS> & { readonly role_type: string | undefined };

const NEW: BrowserLogin = { redirectUris: [], scopes: [], callbackMode: "client", maxAge: 0, pollInterval: 0 };
const MAX_REDIRECTS = 64;
const MAX_SCOPES = 64;
/** What a scope consists of (RFC 6749, section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const MAX_INTERVAL: Seconds = 60;
const MAX_AGE: Seconds = 366 * 24 * 3600;

/** Returns the problem with the fields of a write, whatever is stored, or null. */
export function browserFieldsProblem(fields: BrowserFields): string | null {
  const { role_type: type = "", callback_mode: mode = "", allowed_redirect_uris: uris = [] } = fields;
  if (!["", "jwt", "oidc"].includes(type)) return "invalid 'role_type': it must be jwt or oidc";
  if (type === "jwt" && isLimited(fields)) return NOT_OF_JWT;
  if (mode !== "" && !isMode(mode)) return "invalid 'callback_mode': it must be client, device or direct";
  if (fields.oidc_disable_confirmation) {
    return "oidc_disable_confirmation can't be set: without the confirmation, a person who follows a link of an attacker signs the attacker in";
  }
  const problem = uris.map(redirectProblem).find((one) => one !== null);
  if (problem) return `allowed_redirect_uris: each ${problem}`;
  if (uris.length > MAX_REDIRECTS) return `allowed_redirect_uris holds at most ${MAX_REDIRECTS} entries`;
  const scopes = fields.oidc_scopes ?? [];
  if (scopes.length > MAX_SCOPES || !scopes.every((scope) => SCOPE.test(scope))) {
    return `oidc_scopes holds at most ${MAX_SCOPES} scopes without blanks`;
  }
  const { poll_interval: interval = 0, max_age: maxAge = 0 } = fields;
  if (interval < 0 || interval > MAX_INTERVAL) return `poll_interval must be from 0 to ${MAX_INTERVAL} seconds`;
  return maxAge < 0 || maxAge > MAX_AGE ? `max_age must be from 0 to ${MAX_AGE} seconds` : null;
}

/** Applies a write to what a role says about logins through a browser. */
export function changeBrowserLogin(before: RoleBrowser | null, fields: BrowserFields): Result<RoleBrowser> {
  const old = saidBy(before ?? {});
  const mode = fields.callback_mode;
  const browser: BrowserLogin = {
    redirectUris: fields.allowed_redirect_uris ?? old.redirectUris,
    scopes: fields.oidc_scopes ?? old.scopes,
    callbackMode: mode !== undefined && isMode(mode) ? mode : old.callbackMode,
    maxAge: fields.max_age ?? old.maxAge,
    pollInterval: fields.poll_interval ?? old.pollInterval,
  };
  if (!isOidc(before, fields)) {
    return isLimited(fields) ? refuse(NOT_OF_JWT) : ok({ unusedBrowser: { ...browser, maxAge: 0 } });
  }
  const needsRedirect = browser.callbackMode !== "device" && browser.redirectUris.length === 0;
  return needsRedirect ? refuse("'allowed_redirect_uris' must be set if 'role_type' is 'oidc'") : ok({ browser });
}

const NOT_OF_JWT = "max_age belongs to logins through a browser: to role_type oidc";

/** True with `max_age`, which would seem to be in force. Clients send the other fields with every role. */
function isLimited(fields: BrowserFields): boolean {
  return (fields.max_age ?? 0) > 0;
}

function saidBy({ browser, unusedBrowser }: RoleBrowser): BrowserLogin {
  return browser ?? unusedBrowser ?? NEW;
}

/** Without `role_type` a role keeps its type; a new role is for browsers if it has redirect addresses. */
function isOidc(before: RoleBrowser | null, fields: BrowserFields): boolean {
  const { role_type: type = "", allowed_redirect_uris: uris = [] } = fields;
  if (type !== "") return type === "oidc";
  return before ? before.browser !== undefined : uris.length > 0;
}

function isMode(text: string): text is CallbackMode {
  const modes: readonly string[] = CALLBACK_MODES;
  return modes.includes(text);
}

/** The fields of a read. */
export const BROWSER_VIEW = {
  max_age: ["integer", (role) => saidBy(role).maxAge],
  allowed_redirect_uris: [["string"], (role) => saidBy(role).redirectUris],
  callback_mode: ["string", (role) => saidBy(role).callbackMode],
  oidc_disable_confirmation: ["boolean", () => false],
  oidc_scopes: [["string"], (role) => saidBy(role).scopes],
  "poll_interval?": ["integer", (role) => saidBy(role).pollInterval || undefined],
} satisfies ViewFields<RoleBrowser>;
