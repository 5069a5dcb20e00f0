import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import type { SentAnswer } from "../../../base/outbound-http.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { toBase64 } from "../../../crypto/bytes.ts";
import { jsonObjectOf } from "../../../wire/json.ts";
import { askIssuer, jsonOf } from "../fetch-json.ts";
import type { Provider } from "./provider-discovery.ts";

/** The OAuth client that this server is at the provider. */
export interface OidcClient {
  readonly id: string;
  readonly secret: string;
}

/** What the token endpoint gave. Secrets. */
export interface IssuedTokens {
  readonly idToken: string;
  /** "" for none. */
  readonly accessToken: string;
}

/** A refusal of the provider, by the code of RFC 6749 or 8628, or a failure to get an answer. */
export type ExchangeError =
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "no answer"; readonly message: string };

const MAX_TOKEN_ANSWER = 131_072;
const MAX_ACCESS_TOKEN = 65_536;
const UTF_8 = new TextEncoder();

/** The codes of errors that may be named in answers: a provider could put any text there. */
const CODES: ReadonlySet<string> = new Set([
  ...["invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"],
  ...["invalid_scope", "authorization_pending", "slow_down", "access_denied", "expired_token"],
]);

/** The code of an answer that refuses; null for any other answer, also for 429, which is temporary. */
export function refusalIn({ status, body }: SentAnswer): string | null {
  if (status < 400 || status >= 500 || status === 429) return null;
  const error = jsonObjectOf(body)?.error;
  return typeof error === "string" && CODES.has(error) ? error : "unknown error";
}

/** What a refusal says. RFC 6749 has `invalid_client` for a wrong secret, and Keycloak `unauthorized_client`. */
export function refusalText(code: string): string {
  const isOfClient = code === "invalid_client" || code === "unauthorized_client";
  return isOfClient ? `${code}. The provider refuses the client, its secret or this kind of login.` : `${code}.`;
}

/** Exchanges a grant for tokens at the token endpoint. */
export async function exchange(
  provider: Provider,
  client: OidcClient,
  grant: Readonly<Record<string, string>>,
  listed: PrivateHosts,
): Promise<Result<IssuedTokens, ExchangeError>> {
  const answer = await askAsClient(provider, client, provider.token, grant, listed);
  if (!answer.ok) return err({ kind: "no answer", message: answer.error });
  const code = refusalIn(answer.value);
  if (code !== null) return err({ kind: "refused", code });
  const { status, body } = answer.value;
  if (status !== 200) return err({ kind: "no answer", message: `it answered ${status}` });
  const { id_token: idToken, access_token: accessToken = "" } = jsonObjectOf(body) ?? {};
  if (typeof idToken !== "string") return err({ kind: "no answer", message: "its answer has no id_token" });
  if (typeof accessToken !== "string" || accessToken.length > MAX_ACCESS_TOKEN) {
    return err({ kind: "no answer", message: "its answer has no readable access_token" });
  }
  return ok({ idToken, accessToken });
}

/** Posts a form to an endpoint of the provider, with the client's secret. The error is a phrase. */
export async function askAsClient(
  provider: Provider,
  { id, secret }: OidcClient,
  url: string | null,
  form: Readonly<Record<string, string>>,
  listed: PrivateHosts,
): Promise<Result<SentAnswer, string>> {
  if (url === null) return err("it names no endpoint for this that may be called");
  const inBody = provider.secretInBody ? { client_id: id, client_secret: secret } : {};
  // Each part is encoded first (RFC 6749, section 2.3.1): a secret may contain a colon.
  const basic = `${formEncoded(id)}:${formEncoded(secret)}`;
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/x-www-form-urlencoded",
    ...(!provider.secretInBody && { Authorization: `Basic ${toBase64(UTF_8.encode(basic))}` }),
  };
  const body = new URLSearchParams({ ...form, ...inBody }).toString();
  return askIssuer({ method: "POST", url, headers, body }, listed, MAX_TOKEN_ANSWER);
}

/** Returns the claims of the userinfo endpoint about the holder of an access token. The error is a phrase. */
export async function fetchUserinfo(
  url: string,
  accessToken: string,
  listed: PrivateHosts,
): Promise<Result<Record<string, unknown>, string>> {
  const headers = { Accept: "application/json", Authorization: `Bearer ${accessToken}` };
  const answer = await askIssuer({ method: "GET", url, headers, body: null }, listed);
  return answer.ok ? jsonOf(answer.value) : answer;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice("x=".length);
}
