import { signCaller } from "../../test/support/cloud-login.ts";
import { FakeCloud } from "../../test/support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../../test/support/fake-cloud/server.ts";
import { userArn } from "../../test/support/fake-cloud/world.ts";
import { type Check, createToken, entityOf, must } from "./check.ts";
import { slowReaders } from "./slow-readers.ts";
import { type Subject, TRUSTED_PROXY } from "./subject.ts";

/**
 * What the second review found and can be tried from outside, in its order. Packages without a hash are looked for by
 * test/unit/scripts/lockfile.test.ts, withdrawn keys of an issuer that is down by test/unit/methods/jwt/keys.test.ts.
 */
export const SECOND_REVIEW: readonly Check[] = [
  { name: "2.1 four addresses that do not read", attack: slowReaders },
  { name: "2.3 a forwarded address that can't be read", attack: unreadableAddress },
  { name: "2.6 a page of another site calls sys/init", attack: foreignPage },
  { name: "2.7 a denied path in its other spelling", attack: otherSpelling },
  { name: "2.8 a forwarded host without a gateway", attack: forwardedHost },
  { name: "2.9 a misspelled filter, a token among the filters", attack: unknownFilters },
  { name: "2.10 a claim by the name of an entity", attack: claimByName },
  { name: "2 guesses at what generates a root token", attack: guessInitToken },
  { name: "2 a token that root chose, in the place of a name", attack: chosenIdAsName },
  { name: "2 a captured signed login, shown again and again", attack: shownAgain },
];

async function unreadableAddress(subject: Subject): Promise<string> {
  const role = { orphan: true, token_bound_cidrs: [`${TRUSTED_PROXY}/32`, "203.0.113.0/24"] };
  await subject.call("POST", "auth/token/roles/of-the-proxy", { body: role });
  const { token } = await createToken(subject, {}, "create/of-the-proxy");
  const look = async (forwarded: string) => {
    const headers = { "X-Forwarded-For": forwarded };
    return (await subject.call("GET", "auth/token/lookup-self", { token, headers, from: TRUSTED_PROXY })).status;
  };
  for (const readable of ["203.0.113.9", "203.0.113.9:4711"]) {
    const status = await look(readable);
    must(status === 200, `a client at ${readable} was answered with ${status}`);
  }
  for (const unreadable of ["unknown", "", "_hidden", "[2001:db8::1", "203.0.113", "203.0.113.9, unknown"]) {
    const status = await look(unreadable);
    must(status === 403, `"${unreadable}" was answered with ${status}`);
  }
  return "403: the client is unknown, not the proxy";
}

async function foreignPage(subject: Subject): Promise<string> {
  const pages = [
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { "Sec-Fetch-Site": "cross-site" },
    { Origin: "https://evil.example", Host: "127.0.0.1" },
  ];
  for (const headers of pages) {
    const { status, body } = await subject.call("POST", "sys/init", { token: "", headers, body: {} });
    must(status === 403, `${JSON.stringify(headers)} was answered with ${status} ${JSON.stringify(body)}`);
  }
  const program = await subject.call("POST", "sys/init", { token: "", body: {} });
  must(program.status === 400, `a program was answered with ${program.status}`);
  return "403, before anything is done";
}

async function otherSpelling(subject: Subject): Promise<string> {
  const policy = `
    path "sys/*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }
    path "sys/policies/acl/kept" { capabilities = ["deny"] }
    path "sys/auth/kept/tune" { capabilities = ["deny"] }
    path "sys/leases/revoke" { capabilities = ["deny"] }
    path "sys/leases/revoke-prefix/*" { capabilities = ["deny"] }
    path "sys/rotate" { capabilities = ["deny"] }`;
  await subject.call("POST", "sys/policies/acl/kept", { body: { policy: 'path "x" { capabilities = ["read"] }' } });
  await subject.call("POST", "sys/auth/kept", { body: { type: "aws" } });
  await subject.call("POST", "sys/policies/acl/spellings", { body: { policy } });
  const { token } = await createToken(subject, { policies: ["spellings"] });
  for (const [method, path] of [
    ["GET", "sys/policy/kept"],
    ["DELETE", "sys/policy/Kept"],
    ["POST", "sys/mounts/auth/kept/tune"],
    ["POST", "sys/leases/revoke/auth/token/create/x"],
    ["POST", "sys/leases/revoke-force/auth/kept"],
    ["POST", "sys/rotate/keyring"],
  ] as const) {
    const { status } = await subject.call(method, path, { token, ...(method === "POST" && { body: {} }) });
    must(status === 403, `${method} ${path} was answered with ${status}`);
  }
  const own = await subject.call("POST", "sys/capabilities-self", { token, body: { path: "sys/policy/kept" } });
  must(JSON.stringify(own.body.capabilities) === '["deny"]', "sys/capabilities-self answers something else");
  return "403 in every spelling, and sys/capabilities-self says deny";
}

async function forwardedHost(subject: Subject): Promise<string> {
  const path = "identity/oidc/.well-known/openid-configuration";
  const headers = { "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https" };
  const { body, headers: answered } = await subject.call("GET", path, { token: "", headers });
  must(!JSON.stringify(body).includes("evil.example"), `the issuer is ${String(body.issuer)}`);
  must(answered["cache-control"] === "no-store", `the document may be kept: ${answered["cache-control"]}`);
  // The network's side, where no gateway removes the headers, is in test/unit/wire/request.test.ts.
  return "not believed, and no cache keeps the document";
}

async function unknownFilters(subject: Subject): Promise<string> {
  const { token, accessor } = await createToken(subject, { display_name: "kept" });
  for (const body of [
    { mount: "auth/token/", dislpay_name: "nothing", dry_run: false, expected_count: 1_000_000 },
    { accessors: [accessor], token, dry_run: false, expected_count: 1 },
  ]) {
    const refused = await subject.call("POST", "sys/tokens/revoke", { body });
    must(refused.status === 400, `the revocation was answered with ${refused.status}`);
    must(!JSON.stringify(refused.body).includes(token), "the refusal repeats a token");
  }
  const list = await subject.call("GET", "sys/tokens?polcy=root");
  must(list.status === 400, `the list was answered with ${list.status}`);
  must((await subject.call("GET", "auth/token/lookup-self", { token })).status === 200, "the token was revoked");
  const jobs = JSON.stringify((await subject.call("GET", "sys/tokens/jobs")).body);
  must(!jobs.includes(token), "a job keeps a token in clear");
  must(!JSON.stringify(subject.lines()).includes(token), "the log has a token in clear");
  return "400 that names the parameter; nothing is revoked or kept";
}

async function guessInitToken(subject: Subject): Promise<string> {
  const statuses: number[] = [];
  for (let guess = 0; guess < 12; guess++) {
    const path = guess % 2 === 0 ? "sys/generate-root/attempt" : "sys/generate-root-token/attempt";
    statuses.push((await subject.call("GET", path, { token: `guess-${guess}`, from: "127.0.0.4" })).status);
  }
  must(
    statuses.slice(0, 10).every((status) => status === 403),
    `answered ${statuses.join(", ")}`,
  );
  must(
    statuses.slice(10).every((status) => status === 429),
    `answered ${statuses.join(", ")}`,
  );
  // How many keys may be tried at one attempt is in test/workers/sys/generate-root.test.ts.
  return "429 after ten in a minute";
}

async function claimByName(subject: Subject): Promise<string> {
  const path = "identity/oidc/role/keyed";
  const write = (template: string) => subject.call("POST", path, { body: { key: "default", template } });
  must((await write('{"a": "{{identity.entity.metadata}}"}')).status === 400, "a map in quotes was taken");
  must((await write("{ {{identity.entity.name}}: 1 }")).status === 204, "the role could not be written");
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
  return "400: a reserved claim can't be set by a key either";
}

async function shownAgain(subject: Subject): Promise<string> {
  const cloud = new FakeCloud();
  const { endpoint, close } = await serveCloud(cloud);
  try {
    const user = cloud.world.addUser("111111111111", "captured");
    await subject.call("POST", "sys/auth/captured", { body: { type: "aws" } });
    await subject.call("POST", "auth/captured/config/client", { body: { sts_endpoint: endpoint } });
    const bound = { auth_type: "iam", bound_iam_principal_arn: userArn(user), resolve_aws_unique_ids: false };
    await subject.call("POST", "auth/captured/role/web", { body: bound });
    const body = { role: "web", ...(await signCaller(cloud.world.addKey(user))) };
    const statuses: number[] = [];
    for (let i = 0; i < 105; i++) {
      statuses.push((await subject.call("POST", "auth/captured/login", { token: "", body })).status);
    }
    const expected = statuses.every((status, i) => status === (i < 100 ? 200 : 400));
    must(expected, `the logins were answered with ${statuses.join(", ")}`);
  } finally {
    await close();
  }
  return "a hundred tokens, then 400 until the request is signed again";
}

async function chosenIdAsName(subject: Subject): Promise<string> {
  const id = "chosen-by-root-for-a-path";
  await createToken(subject, { id });
  for (const path of [`auth/token/lookup/${id}`, `sys/wrapping/unwrap/${id}`, `nothing/${id}`, id]) {
    await subject.call("GET", path);
    await subject.call("POST", path, { token: "", body: {} });
  }
  await subject.call("POST", "sys/auth/misnamed", { body: { type: "aws" } });
  await subject.call("POST", "auth/misnamed/login", { token: "", body: { role: id, pkcs7: "x" } });
  await subject.call("POST", "auth/token/create", { body: { role_name: id } });
  await subject.until("the last line", () => subject.lines().some(({ error }) => error === "unknown role <value>"));
  must(!JSON.stringify(subject.lines()).includes(id), "the log has the token in clear");
  return "logged as <unknown>, as <value> or by its hash";
}
