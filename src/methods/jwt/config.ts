import type { JWK } from "jose";
import { nameKey } from "../../base/case-folding.ts";
import type { PrivateHosts } from "../../base/outbound-hosts.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { trustsAll } from "../../base/trusted-cas.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { flag, isObject, list, sent, text, unread } from "../../wire/fields.ts";
import { view } from "../../wire/view.ts";
import { JWT_ALGORITHMS, type JwtAlgorithm, readPublicKey } from "../jws.ts";
import { urlProblem } from "../service-url.ts";
import type { JwtEnv } from "./env.ts";

/** The source of an issuer's keys, and the tokens that are accepted. */
export interface JwtConfig {
  /** One of the next three is the source of the keys; the others are empty. */
  readonly discoveryUrl: string;
  /** True: reads show the discovery URL with a slash at its end, as it was written. */
  readonly endsInSlash?: true;
  readonly jwksUrl: string;
  readonly publicKeys: readonly string[];
  /** OAuth client id of this server at the provider; absent: no logins through a browser. */
  readonly clientId?: string;
  /** The client secret, sealed by `sealClientSecret`. Set if `clientId` is. */
  readonly sealedClientSecret?: string;
  /** Absent: the provider answers in the query. */
  readonly responseMode?: "query" | "form_post";
  readonly responseTypes?: readonly string[];
  /** "azure": groups that Entra leaves out of a token are read from Microsoft Graph. Absent: no special rules. */
  readonly provider?: "azure";
  /** Kept and shown. Absent: true. */
  readonly namespaceInState?: boolean;
  /** In PEM, all trusted by the server. */
  readonly discoveryCa?: string;
  readonly jwksCa?: string;
  /** "" accepts any issuer. */
  readonly boundIssuer: string;
  /** Empty: all. */
  readonly algorithms: readonly JwtAlgorithm[];
  /** In lower case; "" for none. */
  readonly defaultRole: string;
  /** Changes with each write. It is the key of an isolate's cached keys. */
  readonly revision: string;
}

export const CONFIG_FIELDS = fieldSchema({
  oidc_discovery_url: text().describe("The issuer, whose keys are found by discovery"),
  oidc_discovery_ca_pem: text().describe(
    "Kept and shown: an authority that the server trusts (`serve --trust-ca`); others are refused",
  ),
  oidc_client_id: text().describe("This server as the provider knows it"),
  oidc_client_secret: sent(text()).describe("Its secret, never shown; stays unless sent, while issuer and client do"),
  oidc_response_mode: text().describe("How the provider answers: `query`, or `form_post`"),
  oidc_response_types: list().describe("`code`, the only one"),
  jwks_url: text().describe("Where the keys of the issuer are"),
  jwks_ca_pem: text().describe(
    "Kept and shown: an authority that the server trusts (`serve --trust-ca`); others are refused",
  ),
  default_role: text().describe("The role of logins that name none"),
  jwt_validation_pubkeys: list().describe("The public keys of the issuer, in PEM"),
  jwt_supported_algs: list().describe("Algorithms of signatures; all that are known unless sent"),
  bound_issuer: text().describe("The issuer that tokens must name"),
  provider_config: unread("object").describe(
    "`provider`: `azure`, to ask Microsoft Graph for groups that an ID token leaves out",
  ),
  override_allowed_server_names: list().describe("Refused"),
  namespace_in_state: flag(true).describe("Kept and shown: there is one namespace"),
  skip_jwks_validation: flag(false).describe("True: the keys need not be found now"),
});
type ConfigFields = Values<typeof CONFIG_FIELDS>;

const MAX_PUBLIC_KEYS = 32;
const MAX_LENGTH = 2048;

/** A write of the configuration. Undefined `secret`: not sent. */
interface JwtConfigChange {
  readonly config: Omit<JwtConfig, "sealedClientSecret">;
  /** A secret. */
  readonly secret: string | undefined;
}

/** Reads a write. URLs may have `listed` hosts besides public ones. Messages are the reference's where it has them. */
export function readConfig(fields: ConfigFields, listed: PrivateHosts, env: TrustEnv): Result<JwtConfigChange> {
  const problem = authorityProblem(fields, env) ?? problemOf(fields, listed) ?? browserProblem(fields);
  if (problem) return refuse(problem);
  const { oidc_client_id: clientId, oidc_response_mode: mode, oidc_response_types: types } = fields;
  const config = {
    discoveryUrl: fields.oidc_discovery_url.replace(/\/$/, ""),
    ...(fields.oidc_discovery_url.endsWith("/") && { endsInSlash: true as const }),
    jwksUrl: fields.jwks_url,
    publicKeys: fields.jwt_validation_pubkeys,
    ...(clientId !== "" && { clientId }),
    ...(isResponseMode(mode) && { responseMode: mode }),
    ...(isFilled(fields.provider_config) && { provider: "azure" as const }),
    ...(types.length > 0 && { responseTypes: types }),
    ...(!fields.namespace_in_state && { namespaceInState: false }),
    ...(fields.oidc_discovery_ca_pem !== "" && { discoveryCa: fields.oidc_discovery_ca_pem }),
    ...(fields.jwks_ca_pem !== "" && { jwksCa: fields.jwks_ca_pem }),
    boundIssuer: fields.bound_issuer,
    algorithms: JWT_ALGORITHMS.filter((algorithm) => fields.jwt_supported_algs.includes(algorithm)),
    defaultRole: nameKey(fields.default_role),
    revision: crypto.randomUUID(),
  };
  return ok({ config, secret: fields.oidc_client_secret || undefined });
}

/**
 * Applies a write. A secret that is not sent stays, since reads do not show it. It stays only for the same client of
 * the same issuer: a caller that may write the configuration must not have it sent to a host of its own.
 */
export function changeJwtConfig(
  before: JwtConfig | null,
  change: Omit<JwtConfig, "sealedClientSecret">,
  sealedSecret: string | undefined,
): Result<JwtConfig> {
  if (change.clientId === undefined) return ok(change);
  const isSame = before?.clientId === change.clientId && before.discoveryUrl === change.discoveryUrl;
  const sealedClientSecret = sealedSecret ?? (isSame ? before.sealedClientSecret : undefined);
  return sealedClientSecret === undefined ? refuse(BOTH_NEEDED) : ok({ ...change, sealedClientSecret });
}

const BOTH_NEEDED = "both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC";
const MAX_CLIENT = 1024;

/** Returns the problem with the fields of logins through a browser, or null. */
function browserProblem(fields: ConfigFields): string | null {
  const { oidc_client_id: clientId, oidc_client_secret: secret = "", oidc_response_mode: mode } = fields;
  if (clientId === "" && secret !== "") return BOTH_NEEDED;
  if (clientId !== "" && fields.oidc_discovery_url === "") return "'oidc_discovery_url' must be set for OIDC";
  if (clientId.length > MAX_CLIENT || secret.length > MAX_CLIENT) {
    return `oidc_client_id and oidc_client_secret must not be longer than ${MAX_CLIENT}`;
  }
  if (mode !== "" && !isResponseMode(mode)) return "invalid response_mode: it must be query or form_post";
  if (!fields.oidc_response_types.every((type) => type === "code")) {
    return "invalid response_types: only 'code' is allowed here, since it alone is bound to the login that asked for it";
  }
  return providerProblem(fields.provider_config);
}

/** Returns the problem with a `provider_config`, or null. An empty object counts as absent. */
function providerProblem(sent: unknown): string | null {
  if (!isFilled(sent)) return null;
  if (!isObject(sent)) return "invalid provider_config: it must be an object";
  const unknown = Object.keys(sent).find((key) => key !== "provider");
  if (unknown !== undefined)
    return `invalid provider_config: ${JSON.stringify(unknown.slice(0, 64))} is not known here`;
  return sent.provider === "azure" ? null : "invalid provider_config: the only provider with its own rules is azure";
}

function isResponseMode(text: string): text is "query" | "form_post" {
  return text === "query" || text === "form_post";
}

/** The fields of a read. The client's secret is never among them. */
export const CONFIG_VIEW = view<JwtConfig>({
  bound_issuer: ["string", (config) => config.boundIssuer],
  default_role: ["string", (config) => config.defaultRole],
  jwks_ca_pem: ["string", (config) => config.jwksCa ?? ""],
  jwks_url: ["string", (config) => config.jwksUrl],
  jwt_supported_algs: [["string"], (config) => config.algorithms],
  jwt_validation_pubkeys: [["string"], (config) => config.publicKeys],
  namespace_in_state: ["boolean", (config) => config.namespaceInState ?? true],
  oidc_client_id: ["string", (config) => config.clientId ?? ""],
  oidc_discovery_ca_pem: ["string", (config) => config.discoveryCa ?? ""],
  oidc_discovery_url: ["string", ({ discoveryUrl, endsInSlash }) => `${discoveryUrl}${endsInSlash ? "/" : ""}`],
  oidc_response_mode: ["string", (config) => config.responseMode ?? ""],
  oidc_response_types: [["string"], (config) => config.responseTypes ?? []],
  override_allowed_server_names: [["string"], () => []],
  provider_config: ["object", ({ provider }) => (provider ? { provider } : {})],
  status: ["string", () => "valid"],
});

type TrustEnv = Pick<JwtEnv, "GROVE_TRUSTED_CAS">;

const MAX_CA = 65_536;

function authorityProblem(fields: ConfigFields, env: TrustEnv): string | null {
  const isBad = (pem: string) => pem.length > MAX_CA || (pem !== "" && !trustsAll(env, pem));
  const bad = (["oidc_discovery_ca_pem", "jwks_ca_pem"] as const).find((field) => isBad(fields[field]));
  if (bad === undefined) return null;
  return `${bad} can't be set: connections are checked against public certificate authorities, and those of serve --trust-ca`;
}

function problemOf(fields: ConfigFields, listed: PrivateHosts): string | null {
  if (fields.override_allowed_server_names.length > 0) return "override_allowed_server_names can't be set";
  const { oidc_discovery_url: discovery, jwks_url: jwks, jwt_validation_pubkeys: keys } = fields;
  const sources = [discovery !== "", jwks !== "", keys.length > 0].filter((given) => given).length;
  if (sources !== 1) return "exactly one of 'jwt_validation_pubkeys', 'jwks_url' or 'oidc_discovery_url' must be set";
  const isDocument = discovery.includes(".well-known/openid-configuration");
  if (isDocument) return "'oidc_discovery_url' contains '.well-known' component";
  const url = discovery || jwks;
  const badUrl = url === "" ? null : urlProblem(url, listed);
  if (badUrl) return `${discovery === "" ? "jwks_url" : "oidc_discovery_url"} ${badUrl}`;
  if (keys.length > MAX_PUBLIC_KEYS) return `jwt_validation_pubkeys holds at most ${MAX_PUBLIC_KEYS} keys`;
  const badKey = keys.findIndex((pem) => readPublicKey(pem) === null);
  if (badKey >= 0) return `error parsing public key: item ${badKey + 1} is not a public key in PEM`;
  const known: readonly string[] = JWT_ALGORITHMS;
  if (!fields.jwt_supported_algs.every((name) => known.includes(name))) {
    return `invalid jwt_supported_algs: they must be among ${JWT_ALGORITHMS.join(", ")}`;
  }
  return fields.bound_issuer.length > MAX_LENGTH ? `bound_issuer must not be longer than ${MAX_LENGTH}` : null;
}

function isFilled(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

/** Reads the members of a key of an issuer. Null and empty members are absent: some issuers write every member. */
export function readJwk(members: object): JWK {
  const present = Object.entries(members).filter(([, value]) => {
    return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
  });
  return Object.fromEntries(present);
}
