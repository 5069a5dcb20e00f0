import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { DocumentSigner, documentOf, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { type Outbound, replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { xml } from "../../../support/fake-cloud/request.ts";
import { type Instance, type Key, type Role, roleArn, userArn } from "../../../support/fake-cloud/world.ts";
import { call, dataOf, initialized, type Loose } from "../../../support/service.ts";

/** Holes that methods like this one had elsewhere, tried at the endpoint itself. Rows without a test here have theirs in
 * the file of what they are about, under the same name. */

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let sent: Outbound[];
let mount: CloudMount;
let key: Key;
let instance: Instance;

const sessionOf = (role: Role, name: string) => cloud.world.addSession(role, name, Date.now() + 3_600_000);
const base64 = (text: string) => Buffer.from(text).toString("base64");

beforeAll(async () => {
  root = await initialized();
  sent = replaceInternet(cloud);
  const alice = cloud.world.addUser(HOME, "Alice");
  key = cloud.world.addKey(alice);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/alice", { bound_iam_principal_arn: userArn(alice) });
  await mount.write("role/by-arn", {
    resolve_cloud_unique_ids: false,
    bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/Alice`,
  });
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_policies: ["read", "write"] });
});

beforeEach(() => {
  cloud.heal();
  instance = cloud.world.addInstance(HOME, "eu-west-1");
});

async function tagged(fields: Record<string, unknown>): Promise<string> {
  await mount.write("role/tagged", {
    auth_type: "vm",
    bound_account_id: HOME,
    role_tag: "Tag",
    token_policies: ["read", "write"],
  });
  const { tag_value } = dataOf<{ tag_value: string }>(await mount.write("role/tagged/tag", fields));
  instance.tags = { Tag: tag_value };
  return tag_value;
}

describe("STS is made to say what the attacker wants", () => {
  const body = (form: string) => ({ iam_request_body: base64(form) });
  const identity = "Action=GetCallerIdentity&Version=2011-06-15";

  it.each<[string, Record<string, unknown>]>([
    ["another action", body("Action=AssumeRole&Version=2011-06-15")],
    ["two actions", body(`${identity}&Action=AssumeRole`)],
    ["a further key", body(`${identity}&RoleArn=x`)],
    ["a query", { iam_request_url: base64(`https://sts.amazonaws.com/?${identity}`) }],
    ["a path", { iam_request_url: base64("https://sts.amazonaws.com/x") }],
  ])("%s is not sent", async (_, fields) => {
    const before = sent.length;
    expect((await mount.loginCaller(key, { role: "alice", ...fields })).status).toBe(400);
    expect(sent.length).toBe(before);
  });

  it.each([["X-Amz-Target"], ["X-Amz-Mallory"], ["X-Forwarded-Host"]])("a signed %s is not sent", async (name) => {
    const before = sent.length;
    const fields = await signCaller(key, { headers: { [name]: "x" } });
    expect(refusalOf(await mount.login({ role: "alice", ...fields }))[1]).toMatch(/^invalid request header/);
    expect(sent.length).toBe(before);
  });

  const genuine = `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::${HOME}:user/Alice</Arn>
    <UserId>AIDA</UserId><Account>${HOME}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`;
  it("the answer that the next ones are made of is accepted", async () => {
    cloud.fail("sts", { kind: "reply", reply: xml(200, genuine) });
    expect((await mount.loginCaller(key, { role: "by-arn" })).status).toBe(200);
  });

  it.each([
    ["JSON around XML", { status: 200, headers: { "content-type": "application/json" }, body: `{"x":"${genuine}"}` }],
    ["JSON as XML", xml(200, JSON.stringify({ x: genuine }))],
    ["HTML", { status: 200, headers: { "content-type": "text/html" }, body: genuine }],
    ["text before the root", xml(200, `junk ${genuine}`)],
    ["another root", xml(200, genuine.replaceAll("GetCallerIdentityResponse", "AssumeRoleResponse"))],
    ["a wrapped answer", xml(200, `<x>${genuine}</x>`)],
    ["two results", xml(200, genuine.replace(/(<GetCallerIdentityResult>.*<\/GetCallerIdentityResult>)/s, "$1$1"))],
    ["an entity", xml(200, `<!DOCTYPE x [<!ENTITY a "b">]>${genuine}`)],
    ["a redirect", { status: 302, headers: { location: "https://evil.example/" }, body: genuine }],
    ["another account", xml(200, genuine.replace(`<Account>${HOME}`, `<Account>${OTHER}`))],
    ["a federated user", xml(200, genuine.replace(":iam:", ":sts:").replace("user/", "federated-user/"))],
    ["a root user", xml(200, genuine.replace("user/Alice", "root"))],
  ])("%s is not taken for an answer", async (_, reply) => {
    cloud.fail("sts", { kind: "reply", reply });
    const before = sent.length;
    expect((await mount.loginCaller(key, { role: "by-arn" })).status).toBe(400);
    expect(sent.length).toBe(before + 1);
  });
});

it("no other cloud's proof is read", async () => {
  const answer = await mount.login({ role: "alice", jwt: "e30.e30.e30" });
  expect(refusalOf(answer)).toEqual([400, "didn't supply required authentication values"]);
});

describe("another account's principals and instances", () => {
  beforeAll(async () => {
    const local = cloud.world.addRole(HOME, "SameName", { path: "/jobs/" });
    cloud.world.addProfile(local, "SameName");
    await mount.write("role/wild", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/*` });
    await mount.write("role/inferring", {
      inferred_entity_type: "vm_instance",
      inferred_cloud_region: "eu-west-1",
      bound_vpc_id: "vpc-1",
    });
    // The client of the server's own account is in use.
    expect((await mount.loginCaller(sessionOf(local, "x"), { role: "wild" })).status).toBe(200);
  });

  it("a role of the same name is not the one of this account", async () => {
    const foreign = cloud.world.addRole(OTHER, "SameName", { path: "/jobs/" });
    const answer = await mount.loginCaller(sessionOf(foreign, "x"), { role: "wild" });
    expect(refusalOf(answer)[1]).toMatch(`no STS configuration found for account ID "${OTHER}"`);
  });

  it("a session named like an instance of this account is not that instance", async () => {
    const local = cloud.world.addInstance(HOME, "eu-west-1", { profile: "SameName" });
    const foreign = cloud.world.addRole(OTHER, "Attacker");
    const answer = await mount.loginCaller(sessionOf(foreign, local.id), { role: "inferring" });
    expect(refusalOf(answer)[1]).toMatch(`no STS configuration found for account ID "${OTHER}"`);
  });
});

it("a login by signed request works on a fresh mount", async () => {
  await call("POST", "sys/auth/fresh", { token: root, body: { type: "cloud" } });
  const principal = `arn:aws:iam::${HOME}:user/Alice`;
  const role = { resolve_cloud_unique_ids: false, bound_iam_principal_arn: principal };
  await call("POST", "auth/fresh/role/alice", { token: root, body: role });
  const answer = await call("POST", "auth/fresh/login", { body: { role: "alice", ...(await signCaller(key)) } });
  expect(answer.status).toBe(200);
});

it("a denied tag stays denied however it is spelled", async () => {
  const value = await tagged({ policies: "read", max_ttl: "60s" });
  expect((await mount.call("POST", `roletag-denylist/${encodeURIComponent(value)}`)).status).toBe(204);
  const [version, nonce, ...items] = value.split(":");
  const mac = items.pop();
  const spelled = (changed: string[]) => [version, nonce, ...changed, mac].join(":");
  const spellings = [
    value,
    spelled([...items].reverse()),
    spelled(items.map((item) => item.replace("d=false", "d=0"))),
    spelled(items.map((item) => item.replace("m=false", "m=F"))),
    spelled(["r=other", ...items]),
    spelled(items.map((item) => item.replace("t=60", "t=60.5"))),
    spelled(items.map((item) => item.replace("t=60", "t=060"))),
    ` ${value}`,
  ];
  expect(new Set(spellings).size).toBe(spellings.length);
  for (const spelling of spellings) {
    instance.tags = { Tag: spelling };
    expect((await mount.loginInstance(instance, { role: "tagged" })).status, spelling).toBe(400);
  }
});

it("a tag with an empty list of policies gives only default", async () => {
  await tagged({ policies: "" });
  expect((await mount.loginInstance(instance, { role: "tagged" })).body.auth.policies).toEqual(["default"]);
});

it("a wildcard stands at the end of a resource and nowhere else", async () => {
  for (const arn of ["*Admin*", `arn:aws:iam::1*`, "arn:aws:iam::*", "*"]) {
    const answer = await mount.call("POST", "role/star", { bound_iam_principal_arn: arn });
    expect(answer.status, arn).toBe(400);
  }
  const admin = cloud.world.addRole(HOME, "MyAdmin", { path: "/p/" });
  await mount.write("role/star", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/p/*Admin*` });
  expect((await mount.loginCaller(sessionOf(admin, "x"), { role: "star" })).status).toBe(400);
});

it("a request signed for another server is not replayed here", async () => {
  await mount.write("config/client", { iam_server_id_header_value: "grove.example" });
  const name = "X-Service-Cloud-IAM-Server-ID";
  const good = await signCaller(key, { headers: { [name]: "grove.example" } });
  const none = await signCaller(key);
  const near = await signCaller(key, { headers: { [`${name}2`]: "grove.example" } });
  const withHeader = (fields: Record<string, unknown>, change: (headers: Record<string, string>) => void) => {
    const headers = JSON.parse(Buffer.from(String(fields.iam_request_headers), "base64").toString());
    change(headers);
    return { ...fields, iam_request_headers: headers };
  };
  const bad = [
    none,
    await signCaller(key, { headers: { [name]: "other.example" } }),
    withHeader(none, (headers) => {
      headers[name] = "grove.example";
    }),
    near,
    withHeader(near, (headers) => {
      headers[name] = "grove.example";
    }),
    withHeader(good, (headers) => {
      headers.authorization = `${headers.authorization}, SignedHeaders=host;${name.toLowerCase()}`;
    }),
  ];
  for (const fields of bad) expect((await mount.login({ role: "alice", ...fields })).status).toBe(400);
  expect((await mount.login({ role: "alice", ...good })).status).toBe(200);
  await mount.write("config/client", { iam_server_id_header_value: "" });
});

it("the server is sent to no other host", async () => {
  const before = sent.length;
  for (const url of [
    "https://evil.example/",
    "https://sts.amazonaws.com.evil.example/",
    "https://sts.amazonaws.com@evil.example/",
    "https://evil.example#sts.amazonaws.com/",
    "https://evil.example\\sts.amazonaws.com/",
    "//evil.example/",
    "https:evil.example",
    "https://sts.amazonaws.com:8443/",
    "http://sts.amazonaws.com/",
    "https://STS.amazonaws.com/",
    "https://169.254.169.254/",
    "https://sts.amazonaws.com//evil.example/",
  ]) {
    const answer = await mount.loginCaller(key, { role: "alice", iam_request_url: base64(url) });
    expect(answer.status, url).toBe(400);
  }
  expect(sent.length).toBe(before);
});

it("a role name leads to a role and nothing else", async () => {
  const names = [
    "../config/client",
    "a/../b",
    "%2e%2e",
    "config/client",
    "x\u0000",
    "r".repeat(5000),
    "..",
    ".",
    "a:b",
  ];
  for (const role of names) {
    for (const answer of [await mount.loginInstance(instance, { role }), await mount.loginCaller(key, { role })]) {
      expect(refusalOf(answer), role.slice(0, 20)).toEqual([400, "entry for role not found"]);
    }
  }
  // A user of IAM may have such a name, and sends none of its own.
  const dots = cloud.world.addKey(cloud.world.addUser(HOME, ".."));
  expect(refusalOf(await mount.loginCaller(dots))).toEqual([400, "entry for role not found"]);
});

it("a role is one in every casing", async () => {
  const first = await mount.loginInstance(instance, { role: "WEB", nonce: "n" });
  const second = await mount.loginInstance(instance, { role: "web", nonce: "n" });
  expect(first.body.auth.entity_id).toBe(second.body.auth.entity_id);
  expect(first.body.auth.metadata.role).toBe("web");
  const entry = dataOf<Loose>(await mount.call("GET", `identity-accesslist/${instance.id}`));
  expect(entry.role).toBe("web");
});

it("a document by another signer is refused, wherever its certificate stands", async () => {
  const forger = new DocumentSigner();
  const forged = forger.sign(documentOf(instance));
  const genuine = signer.sign(documentOf(instance));
  const other = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
  for (const fields of [
    { pkcs7: forged.pkcs7 },
    { identity: forged.identity, signature: forged.signature },
    { identity: other.identity, signature: genuine.signature },
    { pkcs7: genuine.pkcs7.slice(0, -8) },
    { pkcs7: genuine.pkcs7 + genuine.pkcs7 },
    { pkcs7: genuine.identity },
  ]) {
    const [status, text] = refusalOf(await mount.login({ role: "web", ...fields }));
    expect(status).toBe(400);
    expect(text).toMatch(/signature|PKCS#7/);
  }
});

it("a document is read in one way only", async () => {
  // A reader who takes the last of two names, or minds casing, sees a good document in most of these.
  const text = JSON.stringify(documentOf(instance));
  const withFirst = (name: string) => text.replace("{", `{"${name}":"${OTHER}",`);
  for (const changed of [
    withFirst("accountId"),
    withFirst("accountid"),
    withFirst("AccountId"),
    withFirst("account\\u0049d"),
    text.replace("}", `,"devpayProductCodes":[{"a":1,"A":2}]}`),
    text.replace(`"${HOME}"`, HOME),
    `[${text}]`,
    `${text}{}`,
  ]) {
    expect((await mount.login({ role: "web", pkcs7: signer.signText(changed).pkcs7 })).status, changed).toBe(400);
  }
  expect((await mount.login({ role: "web", pkcs7: signer.signText(text).pkcs7 })).status).toBe(200);
});

it("answers hold neither signatures nor secrets, and nothing of what STS said", async () => {
  await mount.write("config/client", { iam_server_id_header_value: "secret-server-name" });
  const fields = await signCaller(key, { headers: { "X-Vault-AWS-IAM-Server-ID": "guess" } });
  const texts = [JSON.stringify((await mount.login({ role: "alice", ...fields })).body)];
  await mount.write("config/client", { iam_server_id_header_value: "" });
  const secret = "<ErrorResponse><Error><Code>Bad</Code><Message>inside</Message></Error></ErrorResponse>";
  cloud.fail("sts", { kind: "reply", reply: xml(403, secret) });
  texts.push(JSON.stringify((await mount.loginCaller(key, { role: "alice" })).body));
  cloud.heal();
  const wrong = await mount.loginCaller({ ...key, secret: "x" }, { role: "alice" });
  texts.push(JSON.stringify(wrong.body));
  await mount.loginInstance(instance, { role: "web", nonce: "my-nonce" });
  const remembered = await mount.call("GET", `identity-accesslist/${instance.id}`);
  expect(dataOf<Loose>(remembered).client_nonce).toBe("");
  texts.push(JSON.stringify(remembered.body));
  for (const text of texts) {
    expect(text).not.toMatch(/secret-server-name|guess|inside|my-nonce|Signature=|AWS4-HMAC/);
    expect(text).not.toContain(key.id);
  }
});

it("the log holds nothing of a login's proof", async () => {
  const log = vi.spyOn(console, "log");
  await mount.loginInstance(instance, { role: "web", nonce: "my-nonce" });
  const fields = await signCaller(key);
  await mount.login({ role: "alice", ...fields });
  await mount.login({ role: "alice", ...fields, iam_request_body: "my-body" });
  const lines = log.mock.calls.map(String).join("\n");
  log.mockRestore();
  expect(lines).toContain("auth/cloud/login");
  expect(lines).not.toMatch(/my-nonce|my-body|Signature|AWS4/);
  expect(lines).not.toContain(String(fields.iam_request_headers).slice(0, 40));
});

describe("the limits of a role's tokens", () => {
  it("hold for logins", async () => {
    await mount.write("role/limited", {
      bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*`,
      token_num_uses: 2,
      token_explicit_max_ttl: "5m",
      token_no_default_policy: true,
      token_policies: "only",
    });
    const { auth } = (await mount.loginCaller(key, { role: "limited" })).body;
    expect(auth).toMatchObject({ num_uses: 2, lease_duration: 300, policies: ["only"] });
    await mount.write("role/rooted", {
      bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*`,
      token_policies: ["root"],
    });
    expect(refusalOf(await mount.loginCaller(key, { role: "rooted" }))).toEqual([
      400,
      "auth methods cannot create root tokens",
    ]);
    await mount.write("role/batch", {
      bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*`,
      token_type: "batch",
      token_ttl: "5m",
    });
    const batch = (await mount.loginCaller(key, { role: "batch" })).body.auth;
    expect(batch).toMatchObject({ token_type: "batch", renewable: false, accessor: "", lease_duration: 300 });
    expect((await mount.renew(batch.client_token)).status).toBe(400);
    await mount.write("role/near", {
      bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*`,
      token_bound_cidrs: "10.0.0.0/8",
    });
    expect((await mount.loginCaller(key, { role: "near" })).status).toBe(403);
  });
});

it("temporary credentials log in", async () => {
  const role = cloud.world.addRole(HOME, "Temporary");
  await mount.write("role/temporary", { bound_iam_principal_arn: roleArn(role) });
  const session = sessionOf(role, "job");
  expect((await mount.loginCaller(session, { role: "temporary" })).status).toBe(200);
  expect((await mount.loginCaller({ ...session, token: "other" }, { role: "temporary" })).status).toBe(400);
});
