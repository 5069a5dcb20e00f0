import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS } from "../../../src/base/outbound-hosts.ts";
import { APP_ROLE_FIELDS, appRoleProblem } from "../../../src/methods/approle/role.ts";
import { SECRET_ID_FIELDS, secretIdProblem } from "../../../src/methods/approle/secret-id.ts";
import { CLIENT_FIELDS, readClientChange } from "../../../src/methods/aws/clients/client-config.ts";
import { redirectProblem } from "../../../src/methods/jwt/oidc/redirect-uris.ts";
import { changeJwtRole, JWT_ROLE_FIELDS, jwtRoleProblem } from "../../../src/methods/jwt/role.ts";
import { readSelector } from "../../../src/methods/kubernetes/label-selector.ts";
import { changeKubernetesRole, KUBERNETES_ROLE_FIELDS } from "../../../src/methods/kubernetes/role.ts";
import { isRoleName } from "../../../src/methods/role-name.ts";
import { urlProblem } from "../../../src/methods/service-url.ts";
import { fieldSchema } from "../../../src/wire/field-schema.ts";
import { valuesOf } from "../../support/values.ts";

type Body = Record<string, unknown>;
const MOUNT = { defaultSeconds: 3600, maxSeconds: 7200 };
const SECRET_ID = fieldSchema(SECRET_ID_FIELDS);

const text = (length: number) => "x".repeat(length);
const texts = (length: number) => Array.from({ length }, (_, i) => `x${i}`);
const pairs = (length: number) => Object.fromEntries(texts(length).map((name) => [name, name]));
const networks = (length: number) => Array.from({ length }, () => "127.0.0.1");
const uris = (length: number) => texts(length).map((name) => `https://a.example/${name}`);

const appRole = (body: Body) => appRoleProblem(valuesOf(APP_ROLE_FIELDS, body)) === null;
const secretId = (body: Body) => secretIdProblem(valuesOf(SECRET_ID, body)) === null;
function isJwtRole(body: Body): boolean {
  const fields = valuesOf(JWT_ROLE_FIELDS, { user_claim: "sub", ...body });
  return jwtRoleProblem(fields) === null && changeJwtRole(null, fields, MOUNT).ok;
}
const jwtRole = (body: Body) => isJwtRole({ role_type: "jwt", bound_subject: "x", ...body });
const oidcRole = (body: Body) => isJwtRole({ role_type: "oidc", allowed_redirect_uris: uris(1), ...body });
const kubernetesRole = (body: Body) => {
  const bound = { bound_service_account_names: "a", bound_service_account_namespaces: "b" };
  return changeKubernetesRole(null, valuesOf(KUBERNETES_ROLE_FIELDS, { ...bound, ...body }), MOUNT).ok;
};
const awsClient = (body: Body) => readClientChange(valuesOf(CLIENT_FIELDS, body), NO_PRIVATE_HOSTS).ok;

describe("the bounds of the fields of login methods", () => {
  it.each<[string, (body: Body) => boolean, unknown, unknown]>([
    ["role_id", appRole, text(512), text(513)],
    ["secret_id_bound_cidrs", appRole, networks(128), networks(129)],
    ["secret_id_num_uses", appRole, 0, -1],
    ["secret_id_ttl", appRole, 0, -1],
    ["metadata", secretId, pairs(64), pairs(65)],
    ["metadata", secretId, { a: text(16_384 - 8) }, { a: text(16_384 - 7) }],
    ["cidr_list", secretId, networks(128), networks(129)],
    ["token_bound_cidrs", secretId, networks(128), networks(129)],
    ["num_uses", secretId, 0, -1],
    ["ttl", secretId, 0, -1],
    ["bound_audiences", jwtRole, texts(64), texts(65)],
    ["claim_mappings", jwtRole, pairs(64), pairs(65)],
    ["claim_mappings", jwtRole, { a: text(1024) }, { a: text(1025) }],
    ["claim_mappings", jwtRole, { [text(1024)]: "a" }, { [text(1025)]: "a" }],
    ["bound_subject", jwtRole, text(1024), text(1025)],
    ["user_claim", jwtRole, text(1024), text(1025)],
    ["groups_claim", jwtRole, text(1024), text(1025)],
    ["bound_audiences", jwtRole, [text(1024)], [text(1025)]],
    ["bound_claims", jwtRole, { a: text(16_384 - 8) }, { a: text(16_384 - 7) }],
    ["allowed_redirect_uris", oidcRole, uris(64), uris(65)],
    ["oidc_scopes", oidcRole, texts(64), texts(65)],
    ["oidc_scopes", oidcRole, [text(256)], [text(257)]],
    ["poll_interval", oidcRole, 60, 61],
    ["poll_interval", oidcRole, 0, -1],
    ["max_age", oidcRole, 31_622_400, 31_622_401],
    ["max_age", oidcRole, 0, -1],
    ["bound_service_account_names", kubernetesRole, texts(500), texts(501)],
    ["bound_service_account_namespaces", kubernetesRole, texts(500), texts(501)],
    ["bound_service_account_names", kubernetesRole, [text(253)], [text(254)]],
    ["bound_service_account_namespaces", kubernetesRole, [text(253)], [text(254)]],
    ["audience", kubernetesRole, text(1024), text(1025)],
    ["allowed_sts_header_values", awsClient, texts(64), texts(65)],
    ["max_retries", awsClient, 100, 101],
    ["max_retries", awsClient, -1, -2],
  ])("%s: row %#", (field, isAccepted, most, tooMuch) => {
    expect(isAccepted({ [field]: most })).toBe(true);
    expect(isAccepted({ [field]: tooMuch })).toBe(false);
  });

  it.each<[string, (length: number) => boolean, number]>([
    ["the name of a role", (length) => isRoleName(text(length)), 128],
    ["a URL", (length) => urlProblem("https://a.example/".padEnd(length, "x"), NO_PRIVATE_HOSTS) === null, 2048],
    ["an address to return to", (length) => redirectProblem("https://a.example/".padEnd(length, "x")) === null, 2048],
    ["a selector", (length) => readSelector('{"matchLabels":{"a":"b"}}'.padEnd(length)).ok, 4096],
  ])("%s has a greatest length", (_, isAccepted, most) => {
    expect([isAccepted(most), isAccepted(most + 1)]).toEqual([true, false]);
  });
});
