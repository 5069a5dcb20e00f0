const MAX_LENGTH = 2048;
/** An http address of this machine (RFC 8252, section 7.3): its host, its port and the rest. */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?((?:[/?].*)?)$/;
/** Schemes that only one application answers to begin like a domain name (RFC 8252, section 7.1). */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;
/** What browsers and this server could read in different ways, and what no address needs. */
const STRANGE = /[^\x21-\x7e]|[\\#<>"^`{|}]/;

/**
 * True when a login may return to this address: it is on the list, character by character. Only the port of an http
 * address of the client's own machine is free, since a program listens on any free port.
 */
export function isAllowedRedirect(uri: string, allowed: readonly string[]): boolean {
  if (redirectProblem(uri) !== null) return false;
  if (allowed.includes(uri)) return true;
  const wanted = withoutPort(uri);
  return wanted !== null && allowed.some((one) => withoutPort(one) === wanted);
}

/**
 * Repairs the address of the callback that a client of a direct login sends. `bao login` builds it from VAULT_ADDR and
 * the mount. It writes an empty port where VAULT_ADDR has none, and two slashes after the mount unless `-path` names it.
 * No browser comes back to an address with two slashes.
 *
 * @param mountPath with a trailing slash.
 */
export function meantCallback(uri: string, mountPath: string): string {
  const mount = `/v1/auth/${mountPath}`;
  const end = `${mount}/oidc/callback`;
  const withPort = uri.endsWith(end) ? `${uri.slice(0, -end.length)}${mount}oidc/callback` : uri;
  return withPort.replace(/^(https?:\/\/[^/]+):\//, "$1/");
}

/** Returns why an address can't be one that logins return to, as a phrase without it, or null. */
export function redirectProblem(uri: string): string | null {
  if (uri.length > MAX_LENGTH) return `must not be longer than ${MAX_LENGTH} characters`;
  if (STRANGE.test(uri) || !URL.canParse(uri)) return "must be a URL without a fragment, in ASCII";
  const { protocol, username, password } = new URL(uri);
  if (username !== "" || password !== "") return "must not name a user";
  const isWeb = /^https?:\/\/[^/]/.test(uri);
  return isWeb || PRIVATE_SCHEME.test(protocol) ? null : "must be http, https or a scheme of its own with a dot";
}

/** Returns warnings of addresses that may be on a list, as in the reference, and are hardly meant. */
export function redirectWarnings(uris: readonly string[]): string[] {
  return uris.flatMap((uri, index) => {
    const item = `allowed_redirect_uris: item ${index + 1}`;
    const isClear = uri.startsWith("http:") && !isLoopback(uri);
    return [
      ...(uri.includes("*") ? [`${item} is compared character by character: * stands for itself`] : []),
      ...(isClear ? [`${item} is http to another machine, which anybody on the way can read: use https`] : []),
    ];
  });
}

/** True for an http address of the client's own machine. */
export function isLoopback(uri: string): boolean {
  return LOOPBACK.test(uri);
}

function withoutPort(uri: string): string | null {
  const [, host, rest = ""] = LOOPBACK.exec(uri) ?? [];
  return host === undefined ? null : host + rest;
}
