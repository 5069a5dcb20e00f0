import type { PrivateHosts } from "../../base/outbound-hosts.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { trustsAll } from "../../base/trusted-cas.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { flag, list, pasted, sent, text } from "../../wire/fields.ts";
import { view } from "../../wire/view.ts";
import { MAX_JWT_LENGTH, readPublicKey } from "../jws.ts";
import { urlProblem } from "../service-url.ts";
import type { KubernetesEnv } from "./env.ts";

/** The API server of a cluster, and how tokens of its service accounts are reviewed. */
export interface KubernetesConfig {
  /** As it was written: a URL, or a host with or without a port. */
  readonly host: string;
  /** In PEM, all trusted by the server; absent or "" for public authorities. */
  readonly caCert?: string;
  /** Token of the reviewer, sealed by `sealReviewer`; null: the token of a login asks for its own review. */
  readonly sealedReviewer: string | null;
  /** In PEM. Empty: the API server alone verifies signatures. */
  readonly publicKeys: readonly string[];
  /** "" for `DEFAULT_ISSUER`. */
  readonly issuer: string;
  readonly disableIssuerValidation: boolean;
  readonly disableLocalCaJwt: boolean;
  readonly annotationsAsMetadata: boolean;
}

/** A write of the configuration. Undefined `sealedReviewer`: not sent. */
export type KubernetesConfigChange = Omit<KubernetesConfig, "sealedReviewer"> & {
  readonly sealedReviewer: string | null | undefined;
};

/** The issuer of tokens that are stored in secrets. */
const DEFAULT_ISSUER = "kubernetes/serviceaccount";

export const CLUSTER_FIELDS = fieldSchema({
  kubernetes_host: text().describe("The API server: a URL or a host"),
  kubernetes_ca_cert: text().describe(
    "Kept and shown: an authority that the server trusts (`serve --trust-ca`); others are refused",
  ),
  token_reviewer_jwt: sent(pasted()).describe(
    "The token that asks for reviews; without it each login asks with its own, and nothing is renewed",
  ),
  pem_keys: list().describe("Keys or certificates in PEM, of which one must have signed a token"),
  issuer: text().describe("The issuer that tokens must name, with `disable_iss_validation` false"),
  disable_iss_validation: flag(true).describe("False: a token must name the issuer"),
  disable_local_ca_jwt: flag(false).describe("Kept and shown: no file of a pod is ever read"),
  use_annotations_as_alias_metadata: flag(false).describe("True: annotations of the service account become metadata"),
});
type ConfigFields = Values<typeof CLUSTER_FIELDS>;

const MAX_PUBLIC_KEYS = 32;
const MAX_ISSUER = 2048;
const MAX_CA = 65_536;
/** What a header can carry. */
const BEARER = /^[\x21-\x7e]*$/;

/** Reads a write. The API server may be one of the `listed` hosts besides public ones. The reviewer is sealed later. */
export function readClusterConfig(
  fields: ConfigFields,
  listed: PrivateHosts,
  env: Pick<KubernetesEnv, "GROVE_TRUSTED_CAS">,
): Result<Omit<KubernetesConfigChange, "sealedReviewer">> {
  const problem = problemOf(fields, listed, env);
  if (problem) return refuse(problem);
  return ok({
    host: fields.kubernetes_host,
    ...(fields.kubernetes_ca_cert !== "" && { caCert: fields.kubernetes_ca_cert }),
    publicKeys: fields.pem_keys,
    issuer: fields.issuer,
    disableIssuerValidation: fields.disable_iss_validation,
    disableLocalCaJwt: fields.disable_local_ca_jwt,
    annotationsAsMetadata: fields.use_annotations_as_alias_metadata,
  });
}

/**
 * Applies a write. A reviewer that is not sent stays, since reads do not show it. It stays only for the same host:
 * a caller that may write the configuration must not have the reviewer sent to a host of its own.
 */
export function changeConfig(before: KubernetesConfig | null, change: KubernetesConfigChange): KubernetesConfig {
  const kept = before?.host === change.host ? before.sealedReviewer : null;
  return { ...change, sealedReviewer: change.sealedReviewer === undefined ? kept : change.sealedReviewer };
}

/** The fields of a read. The reviewer is never among them. */
export const CLUSTER_VIEW = view<KubernetesConfig>({
  disable_iss_validation: ["boolean", (config) => config.disableIssuerValidation],
  disable_local_ca_jwt: ["boolean", (config) => config.disableLocalCaJwt],
  issuer: ["string", (config) => config.issuer],
  kubernetes_ca_cert: ["string", (config) => config.caCert ?? ""],
  kubernetes_host: ["string", (config) => config.host],
  pem_keys: [["string"], (config) => config.publicKeys],
  token_reviewer_jwt_set: ["boolean", (config) => config.sealedReviewer !== null],
  use_annotations_as_alias_metadata: ["boolean", (config) => config.annotationsAsMetadata],
});

/** Returns the warnings in the answer to a read of a configuration. */
export function configWarnings({ sealedReviewer }: KubernetesConfig): readonly string[] {
  return sealedReviewer === null
    ? ["without token_reviewer_jwt no token of this mount can be renewed: Grove can't read its service account"]
    : [];
}

/** Returns the URL of the API server without a slash at its end. */
export function serverUrl({ host }: Pick<KubernetesConfig, "host">): string {
  return (host.includes("://") ? host : `https://${host}`).replace(/\/+$/, "");
}

/** Returns the issuer that tokens must name, or null for any. */
export function boundIssuer(config: KubernetesConfig): string | null {
  return config.disableIssuerValidation ? null : config.issuer || DEFAULT_ISSUER;
}

function problemOf(
  fields: ConfigFields,
  listed: PrivateHosts,
  env: Pick<KubernetesEnv, "GROVE_TRUSTED_CAS">,
): string | null {
  if (fields.kubernetes_host === "") return "no host provided";
  const url = serverUrl({ host: fields.kubernetes_host });
  const badUrl = url.includes("?") ? "must not have a query" : urlProblem(url, listed);
  if (badUrl) return `kubernetes_host ${badUrl}`;
  const ca = fields.kubernetes_ca_cert;
  if (ca.length > MAX_CA) return `kubernetes_ca_cert must not be longer than ${MAX_CA}`;
  if (ca !== "" && !trustsAll(env, ca)) {
    return "kubernetes_ca_cert can't be trusted: connections are checked against public certificate authorities, and those of serve --trust-ca; for a cluster with its own, use its issuer by the jwt method";
  }
  const reviewer = fields.token_reviewer_jwt ?? "";
  if (reviewer.length > MAX_JWT_LENGTH || !BEARER.test(reviewer)) return "token_reviewer_jwt is no token";
  if (fields.pem_keys.length > MAX_PUBLIC_KEYS) return `pem_keys holds at most ${MAX_PUBLIC_KEYS} keys`;
  const badKey = fields.pem_keys.findIndex((pem) => readPublicKey(pem) === null);
  if (badKey >= 0) return `pem_keys: item ${badKey + 1} is not a public key in PEM`;
  return fields.issuer.length > MAX_ISSUER ? `issuer must not be longer than ${MAX_ISSUER}` : null;
}
