import { waitUntil } from "cloudflare:workers";
import { Copies } from "../../../base/copies.ts";
import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { urlProblem } from "../../service-url.ts";
import { fetchJson } from "../fetch-json.ts";
import { type IssuerProblem, inStep, problemAt } from "../issuer-problem.ts";

/** An identity provider as its discovery document describes it. An endpoint that may not be called is null. */
export interface Provider {
  /** Exactly as tokens name it. */
  readonly issuer: string;
  readonly keys: string;
  readonly authorization: string | null;
  readonly token: string | null;
  readonly userinfo: string | null;
  readonly deviceAuthorization: string | null;
  /** Where Entra says that Microsoft Graph is, one of `GRAPH_HOSTS`; null for other providers. */
  readonly graphHost: string | null;
  /** True: its answers to an authorization name the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
  /** True: the token endpoint takes the client's secret in the body and not in a header. */
  readonly secretInBody: boolean;
}

/** Microsoft Graph and those of the national clouds. An access token of a person is sent to no other host. */
const GRAPH_HOSTS: ReadonlySet<string> = new Set([
  "graph.microsoft.com",
  "graph.microsoft.us",
  "dod-graph.microsoft.us",
  "microsoftgraph.chinacloudapi.cn",
]);

/** How long a description is used. */
const REFRESH_MS = 300_000;
/** How long a failure is kept: anybody can begin logins, and not each may cause a request. */
const FAILED_MS = 2_000;
const MAX_KEPT_CHARACTERS = 2 ** 16;

/** Providers that this isolate has read, by the revision of the configuration. */
const described = new Copies<string, Result<Provider, string>>(MAX_KEPT_CHARACTERS, {
  sizeOf: (provider) => JSON.stringify(provider).length,
  inBackground: waitUntil,
});

/** Returns the provider of a configuration, or a message when it can't be read. Concurrent logins ask it once. */
export function providerOf(
  { discoveryUrl, revision }: { readonly discoveryUrl: string; readonly revision: string },
  listed: PrivateHosts,
): Promise<Result<Provider, string>> {
  const policyOf = (known?: Result<Provider, string>) => ({
    maxAgeMs: known?.ok === false ? FAILED_MS : REFRESH_MS,
    graceMs: 0,
  });
  return described.load(revision, policyOf, async () => {
    const fetched = await fetchProvider(discoveryUrl, listed);
    return fetched.ok ? fetched : err(fetched.error.text);
  });
}

/** Fetches the description of the provider with this issuer, without a slash at its end. */
export async function fetchProvider(
  discoveryUrl: string,
  listed: PrivateHosts,
): Promise<Result<Provider, IssuerProblem>> {
  const url = `${discoveryUrl}/.well-known/openid-configuration`;
  const answer = await fetchJson(url, listed);
  if (!answer.ok) return err(inStep(STEP, answer.error));
  const provider = readProvider(answer.value, discoveryUrl, listed);
  if (provider.ok) return provider;
  const named = provider.error === ANOTHER_ISSUER ? namedIssuer(answer.value.issuer) : "";
  return err(inStep(STEP, problemAt(url, `${provider.error}${named}`, provider.error)));
}

const ANOTHER_ISSUER = "the document names another issuer";
/** Much longer than that of any provider. */
const MAX_SHOWN_ISSUER = 200;

/** The URL of an issuer that a document names; "" for what is none. */
function namedIssuer(issuer: unknown): string {
  if (typeof issuer !== "string" || issuer.length > MAX_SHOWN_ISSUER || !/^https?:\/\/[\w.:/~%-]+$/.test(issuer))
    return "";
  return `, ${issuer}: oidc_discovery_url must be that`;
}

const STEP = "error checking oidc discovery URL";

/** Reads a discovery document. It must name the issuer that was asked (OpenID Connect Discovery, 4.3). */
export function readProvider(
  document: Readonly<Record<string, unknown>>,
  discoveryUrl: string,
  listed: PrivateHosts,
): Result<Provider, string> {
  const { issuer, jwks_uri: keys, msgraph_host: graph } = document;
  if (typeof issuer !== "string" || issuer.replace(/\/$/, "") !== discoveryUrl) {
    return err(ANOTHER_ISSUER);
  }
  if (typeof keys !== "string") return err("the document names no keys");
  const problem = urlProblem(keys, listed);
  if (problem) return err(`the URL of the keys ${problem}`);
  const endpoint = (name: string) => {
    const url = document[name];
    return typeof url === "string" && urlProblem(url, listed) === null ? url : null;
  };
  const ways = document.token_endpoint_auth_methods_supported;
  return ok({
    issuer,
    keys,
    authorization: endpoint("authorization_endpoint"),
    token: endpoint("token_endpoint"),
    userinfo: endpoint("userinfo_endpoint"),
    deviceAuthorization: endpoint("device_authorization_endpoint"),
    graphHost: typeof graph === "string" && GRAPH_HOSTS.has(graph) ? graph : null,
    namesIssuer: document.authorization_response_iss_parameter_supported === true,
    secretInBody: Array.isArray(ways) && !ways.includes("client_secret_basic") && ways.includes("client_secret_post"),
  });
}
