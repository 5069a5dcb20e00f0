import { signCaller } from "../../test/support/cloud-login.ts";
import { FakeCloud } from "../../test/support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../../test/support/fake-cloud/server.ts";
import { userArn } from "../../test/support/fake-cloud/world.ts";
import { type Checks, createToken, entityOf, must, repeated, tokenWith } from "./check.ts";
import { slowReaders } from "./slow-readers.ts";
import { TRUSTED_PROXY } from "./subject.ts";

/**
 * Attacks of the second security review that can be tried over the network, in the order of the review.
 * test/unit/scripts/lockfile.test.ts covers packages without a hash.
 * test/unit/methods/jwt/key-set-cache.test.ts covers withdrawn keys of an unavailable issuer.
 */
export const SECOND_REVIEW: Checks = {
  "2.1 four addresses that read responses slowly": slowReaders,
  async "2.3 an invalid forwarded address"(subject) {
    const role = { orphan: true, token_bound_cidrs: [`${TRUSTED_PROXY}/32`, "203.0.113.0/24"] };
    await subject.call("POST", "auth/token/roles/of-the-proxy", { body: role });
    const { token } = await createToken(subject, {}, "create/of-the-proxy");
    const readable = ["203.0.113.9", "203.0.113.9:4711"];
    const unreadable = ["unknown", "", "_hidden", "[2001:db8::1", "203.0.113", "203.0.113.9, unknown"];
    for (const forwarded of [...readable, ...unreadable]) {
      const options = { token, headers: { "X-Forwarded-For": forwarded }, from: TRUSTED_PROXY };
      await subject.answers(readable.includes(forwarded) ? 200 : 403, "GET", "auth/token/lookup-self", options);
    }
    return "403: not treated as the address of the proxy";
  },

  async "2.6 sys/init requested by another site's page"(subject) {
    for (const headers of [
      { Origin: "https://evil.example" },
      { Origin: "null" },
      { "Sec-Fetch-Site": "cross-site" },
      { Origin: "https://evil.example", Host: "127.0.0.1" },
    ]) {
      await subject.answers(403, "POST", "sys/init", { token: "", headers, body: {} });
    }
    await subject.answers(400, "POST", "sys/init", { token: "", body: {} });
    return "403 before any change";
  },

  async "2.7 alternative spellings of a denied path"(subject) {
    const policy = `
    path "sys/*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }
    path "sys/policies/acl/kept" { capabilities = ["deny"] }
    path "sys/auth/kept/tune" { capabilities = ["deny"] }
    path "sys/leases/revoke" { capabilities = ["deny"] }
    path "sys/leases/revoke-prefix/*" { capabilities = ["deny"] }
    path "sys/rotate" { capabilities = ["deny"] }`;
    await subject.call("POST", "sys/policies/acl/kept", { body: { policy: 'path "x" { capabilities = ["read"] }' } });
    await subject.call("POST", "sys/auth/kept", { body: { type: "aws" } });
    const token = await tokenWith(subject, "spellings", policy);
    for (const [method, path] of [
      ["GET", "sys/policy/kept"],
      ["DELETE", "sys/policy/Kept"],
      ["POST", "sys/mounts/auth/kept/tune"],
      ["POST", "sys/leases/revoke/auth/token/create/x"],
      ["POST", "sys/leases/revoke-force/auth/kept"],
      ["POST", "sys/rotate/keyring"],
    ] as const) {
      await subject.answers(403, method, path, { token, ...(method === "POST" && { body: {} }) });
    }
    const own = await subject.call("POST", "sys/capabilities-self", { token, body: { path: "sys/policy/kept" } });
    must(JSON.stringify(own.body.capabilities) === '["deny"]', "sys/capabilities-self does not answer deny");
    return "403 in every spelling; sys/capabilities-self answers deny";
  },

  async "2.8 a forwarded host without a gateway"(subject) {
    const path = "identity/oidc/.well-known/openid-configuration";
    const headers = { "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https" };
    const { body, headers: answered } = await subject.call("GET", path, { token: "", headers });
    must(!JSON.stringify(body).includes("evil.example"), `the issuer is ${String(body.issuer)}`);
    must(answered["cache-control"] === "no-store", `the document may be cached: ${answered["cache-control"]}`);
    // test/unit/wire/request.test.ts covers a deployment without a gateway that removes the headers.
    return "ignored; the document is not cached";
  },

  async "2.9 a misspelled filter, a token as a filter"(subject) {
    const { token, accessor } = await createToken(subject, { display_name: "kept" });
    for (const body of [
      { mount: "auth/token/", dislpay_name: "nothing", dry_run: false, expected_count: 1_000_000 },
      { accessors: [accessor], token, dry_run: false, expected_count: 1 },
    ]) {
      const refused = await subject.answers(400, "POST", "sys/tokens/revoke", { body });
      must(!JSON.stringify(refused.body).includes(token), "the refusal repeats a token");
    }
    await subject.answers(400, "GET", "sys/tokens?polcy=root");
    await subject.answers(200, "GET", "auth/token/lookup-self", { token });
    const jobs = JSON.stringify((await subject.call("GET", "sys/tokens/jobs")).body);
    must(!jobs.includes(token), "a job stores a plaintext token");
    must(!JSON.stringify(subject.lines()).includes(token), "the log contains a plaintext token");
    return "400 with the parameter's name; nothing is revoked or stored";
  },

  async "2.10 an entity name as a reserved claim"(subject) {
    for (const [status, template] of [
      [400, '{"a": "{{identity.entity.metadata}}"}'],
      [204, "{ {{identity.entity.name}}: 1 }"],
    ] as const) {
      await subject.answers(status, "POST", "identity/oidc/role/keyed", { body: { key: "default", template } });
    }
    const policy = 'path "identity/oidc/token/*" { capabilities = ["read"] }';
    await subject.call("POST", "sys/policies/acl/identity-tokens", { body: { policy } });
    const named = { allowed_entity_aliases: "keyed", allowed_policies: "identity-tokens" };
    await subject.call("POST", "auth/token/roles/keyed", { body: named });
    const fields = { entity_alias: "keyed", policies: ["identity-tokens"] };
    const { token } = await createToken(subject, fields, "create/keyed");
    const id = await entityOf(subject, token);
    await subject.call("POST", `identity/entity/id/${id}`, { body: { name: "nbf" } });
    const ask = () => subject.call("GET", "identity/oidc/token/keyed", { token });
    await subject.until("the refusal", async () => (await ask()).status === 400, 3_000);
    return "400: a template can't use a reserved claim as a key";
  },

  async "2 guesses that generate a root token"(subject) {
    const statuses = await repeated(12, (guess) => {
      const path = guess % 2 === 0 ? "sys/generate-root/attempt" : "sys/generate-root-token/attempt";
      // Not an address of the slow readers, whose connections are only freed after half a minute.
      return subject.call("GET", path, { token: `guess-${guess}`, from: "127.0.0.8" });
    });
    const isRefused = statuses.every((status, at) => status === (at < 10 ? 403 : 429));
    must(isRefused, `answered ${statuses.join(", ")}`);
    // test/workers/sys/generate-root.test.ts covers the number of keys that one attempt may try.
    return "429 after ten guesses in a minute";
  },

  async "2 a custom token id in place of a name"(subject) {
    const id = "chosen-by-root-for-a-path";
    await createToken(subject, { id });
    for (const path of [`auth/token/lookup/${id}`, `sys/wrapping/unwrap/${id}`, `nothing/${id}`, id]) {
      await subject.call("GET", path);
      await subject.call("POST", path, { token: "", body: {} });
    }
    await subject.call("POST", "sys/auth/misnamed", { body: { type: "aws" } });
    await subject.call("POST", "auth/misnamed/login", { token: "", body: { role: id, pkcs7: "x" } });
    await subject.call("POST", "auth/token/create", { body: { role_name: id } });
    await subject.until("the last log line", () =>
      subject.lines().some(({ error }) => error === "unknown role <value>"),
    );
    must(!JSON.stringify(subject.lines()).includes(id), "the log contains the plaintext token");
    return "logged as <unknown>, as <value> or by its hash";
  },

  async "2 a captured signed login, replayed"(subject) {
    const cloud = new FakeCloud();
    const { endpoint, close } = await serveCloud(cloud);
    try {
      const user = cloud.world.addUser("111111111111", "captured");
      await subject.call("POST", "sys/auth/captured", { body: { type: "aws" } });
      await subject.call("POST", "auth/captured/config/client", { body: { sts_endpoint: endpoint } });
      const bound = { auth_type: "iam", bound_iam_principal_arn: userArn(user), resolve_aws_unique_ids: false };
      await subject.call("POST", "auth/captured/role/web", { body: bound });
      const body = { role: "web", ...(await signCaller(cloud.world.addKey(user))) };
      const login = () => subject.call("POST", "auth/captured/login", { token: "", body });
      const statuses = await repeated(105, login);
      const expected = statuses.every((status, i) => status === (i < 100 ? 200 : 400));
      must(expected, `the logins were answered with ${statuses.join(", ")}`);
    } finally {
      await close();
    }
    return "100 logins, then 400 until the request is signed again";
  },
};
