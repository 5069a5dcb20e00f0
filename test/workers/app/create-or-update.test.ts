import { beforeAll, describe, expect, it } from "vitest";
import { call, initialized, tokenUnder } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
  for (const type of ["approle", "aws", "jwt", "kubernetes"]) {
    await call("POST", `sys/auth/${type}`, { token: root, body: { type } });
  }
});

/** Every record for which the reference checks whether it exists, by a path, with a body that creates it. */
const RECORDS: readonly (readonly [path: string, body: Readonly<Record<string, unknown>>])[] = [
  ["auth/approle/role/made", {}],
  [
    "auth/aws/role/made",
    { auth_type: "iam", bound_iam_principal_arn: "arn:aws:iam::123456789012:role/a", resolve_aws_unique_ids: false },
  ],
  ["auth/aws/config/client", { iam_server_id_header_value: "grove" }],
  ["auth/aws/config/sts/123456789012", { sts_role: "arn:aws:iam::123456789012:role/grove" }],
  ["auth/aws/config/tidy/identity-accesslist", { safety_buffer: 60 }],
  ["auth/jwt/role/made", { role_type: "jwt", user_claim: "sub", bound_audiences: "grove" }],
  ["auth/kubernetes/role/made", { bound_service_account_names: "a", bound_service_account_namespaces: "b" }],
  ["auth/token/roles/made", {}],
  ["cubbyhole/made", { a: "b" }],
  ["identity/oidc/key/made", {}],
  ["identity/oidc/role/made", { key: "made" }],
];

describe("a record that may or may not exist", () => {
  it.each(RECORDS)("needs create to be made and update to be changed: %s", async (path, body) => {
    const creator = await tokenUnder(root, `path "${path}" { capabilities = ["create"] }`);
    const updater = await tokenUnder(root, `path "${path}" { capabilities = ["update"] }`);
    const statusOf = async (token: string) => (await call("POST", path, { token, body })).status;
    expect(await statusOf(updater)).toBe(403);
    expect(await statusOf(creator)).toBe(204);
    expect(await statusOf(creator)).toBe(403);
    if (!path.startsWith("cubbyhole/")) expect(await statusOf(updater)).toBe(204);
  });

  it("counts the default key of the issuer as present before its first use makes it", async () => {
    const path = "identity/oidc/key/default";
    const creator = await tokenUnder(root, `path "${path}" { capabilities = ["create"] }`);
    const updater = await tokenUnder(root, `path "${path}" { capabilities = ["update"] }`);
    expect((await call("POST", path, { token: creator })).status).toBe(403);
    expect((await call("POST", path, { token: updater })).status).toBe(204);
  });
});
