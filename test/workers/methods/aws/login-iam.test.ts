import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { type Outbound, replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Key, type Role, roleArn, type User, userArn } from "../../../support/fake-cloud/world.ts";
import { bindings, call, dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let sent: Outbound[];
let root: string;
let mount: CloudMount;
let alice: User;
let aliceKey: Key;
let worker: Role;

const HOUR = 3_600_000;
const sessionOf = (role: Role, name = "job-1") => cloud.world.addSession(role, name, Date.now() + HOUR);

beforeAll(async () => {
  root = await initialized();
  sent = replaceInternet(cloud);
  alice = cloud.world.addUser(HOME, "Alice", "/people/");
  aliceKey = cloud.world.addKey(alice);
  worker = cloud.world.addRole(HOME, "Worker", { path: "/jobs/" });
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await mount.write("role/people", {
    bound_iam_principal_arn: [userArn(alice), roleArn(worker)],
    token_policies: "people",
    token_ttl: "5m",
  });
});

describe("a login by signed request", () => {
  it("gives a user a token, without any call but the one to STS", async () => {
    const before = sent.length;
    const answer = await mount.loginCaller(aliceKey, { role: "people" });
    expect(answer.status).toBe(200);
    expect(sent.slice(before).map(({ url }) => url)).toEqual(["https://sts.amazonaws.com/"]);
    const { auth } = answer.body;
    expect(auth).toMatchObject({ policies: ["default", "people"], lease_duration: 300, orphan: true, renewable: true });
    expect(auth.metadata).toEqual({ role_id: expect.any(String), account_id: HOME, auth_type: "iam" });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth.client_token });
    expect(seen.body.data).toMatchObject({ display_name: "cloud-Alice", path: "auth/cloud/login" });
    expect((await mount.call("GET", "identity-accesslist?list=true")).status).toBe(404);
  });

  it("gives an assumed role a token, with temporary credentials", async () => {
    const answer = await mount.loginCaller(sessionOf(worker), { role: "people" });
    const seen = await call("GET", "auth/token/lookup-self", { token: answer.body.auth.client_token });
    expect(seen.body.data.display_name).toBe("cloud-Worker/job-1");
  });

  it("takes a pre-signed GET", async () => {
    for (const key of [aliceKey, sessionOf(worker)]) {
      const fields = await signCaller(key, { method: "GET", region: "eu-west-1", host: "sts.eu-west-1.amazonaws.com" });
      expect((await mount.login({ role: "people", ...fields })).status).toBe(200);
    }
  });

  it("takes headers as an object too", async () => {
    const fields = await signCaller(aliceKey);
    const text = Buffer.from(String(fields.iam_request_headers), "base64").toString();
    const headers = JSON.parse(text) as Record<string, string>;
    for (const form of [headers, text, Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, [v]]))]) {
      expect((await mount.login({ role: "people", ...fields, iam_request_headers: form })).status).toBe(200);
    }
  });

  it("takes the role named like the principal when the client names none", async () => {
    expect(refusalOf(await mount.loginCaller(aliceKey))).toEqual([400, 'entry for role "alice" not found']);
    await mount.write("role/worker", { bound_iam_principal_arn: roleArn(worker) });
    const { auth } = (await mount.loginCaller(sessionOf(worker))).body;
    const { role_id } = dataOf<{ role_id: string }>(await mount.call("GET", "role/worker"));
    expect(auth.metadata.role_id).toBe(role_id);
  });

  it("goes to the region that the client signed for when the mount says so", async () => {
    await mount.write("config/client", { use_sts_region_from_client: true });
    const before = sent.length;
    const fields = await signCaller(aliceKey, { region: "eu-west-1", host: "sts.eu-west-1.amazonaws.com" });
    expect((await mount.login({ role: "people", ...fields })).status).toBe(200);
    expect(sent.slice(before).map(({ host }) => host)).toEqual(["sts.eu-west-1.amazonaws.com"]);
    const unknown = await signCaller(aliceKey, { region: "xx-west-9", host: "sts.xx-west-9.amazonaws.com" });
    expect(refusalOf(await mount.login({ role: "people", ...unknown }))).toEqual([
      400,
      "unable to get regional STS endpoint for the region of the signature",
    ]);
    await mount.write("config/client", { use_sts_region_from_client: false });
  });

  it("is refused when the signature is not genuine", async () => {
    for (const key of [
      { ...aliceKey, secret: "wrong" },
      { ...aliceKey, id: "AKIAUNKNOWN" },
    ]) {
      const [status, text] = refusalOf(await mount.loginCaller(key, { role: "people" }));
      expect(status).toBe(400);
      expect(text).toMatch(/^error making upstream request: received error code 403 from STS: \w+$/);
    }
    const old = await signCaller(aliceKey, { now: Date.now() - HOUR });
    expect(refusalOf(await mount.login({ role: "people", ...old }))[1]).toMatch(/X-Amz-Date/);
  });

  it("asks for the server ID, under either of its names, and signed", async () => {
    await mount.write("config/client", { iam_server_id_header_value: "grove.example" });
    for (const name of ["X-Service-Cloud-IAM-Server-ID", "X-Vault-AWS-IAM-Server-ID"]) {
      const good = await signCaller(aliceKey, { headers: { [name]: "grove.example" } });
      expect((await mount.login({ role: "people", ...good })).status).toBe(200);
    }
    const missing = await mount.loginCaller(aliceKey, { role: "people" });
    expect(refusalOf(missing)[1]).toMatch(/missing header "X-Service-Cloud-IAM-Server-ID"/);
    const wrong = await signCaller(aliceKey, { headers: { "X-Service-Cloud-IAM-Server-ID": "other.example" } });
    const text = refusalOf(await mount.login({ role: "people", ...wrong }))[1];
    expect(text).toMatch(/not the one that this server expects/);
    expect(text).not.toMatch(/grove\.example|other\.example/);
    await mount.write("config/client", { iam_server_id_header_value: "" });
  });
});

describe("the principal of a login", () => {
  it("must be one that the role is bound to", async () => {
    const bob = cloud.world.addKey(cloud.world.addUser(HOME, "Bob"));
    const [status, text] = refusalOf(await mount.loginCaller(bob, { role: "people" }));
    expect([status, text]).toEqual([
      400,
      `IAM Principal "arn:aws:iam::${HOME}:user/Bob" does not belong to the role "people"`,
    ]);
  });

  it("is known by its unique ID", async () => {
    const role = cloud.world.addRole(HOME, "Phoenix");
    await mount.write("role/phoenix", { bound_iam_principal_arn: roleArn(role) });
    expect((await mount.loginCaller(sessionOf(role))).status).toBe(200);
    const again = cloud.world.recreateRole(role);
    expect((await mount.loginCaller(sessionOf(again))).status).toBe(400);
    // Writing the same ARN again looks the id up again.
    await mount.write("role/phoenix", { bound_iam_principal_arn: roleArn(role) });
    expect((await mount.loginCaller(sessionOf(again))).status).toBe(200);
  });

  it("is known by its ARN without the path where unique IDs are not resolved", async () => {
    const fields = { resolve_cloud_unique_ids: false, bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/Worker` };
    await mount.write("role/by-arn", fields);
    expect((await mount.loginCaller(sessionOf(worker), { role: "by-arn" })).status).toBe(200);
    await mount.write("role/by-arn", { bound_iam_principal_arn: roleArn(worker) });
    expect((await mount.loginCaller(sessionOf(worker), { role: "by-arn" })).status).toBe(400);
  });

  it("matches a wildcard by its full ARN, which IAM knows", async () => {
    await mount.write("role/wild", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/jobs/*` });
    const before = cloud.callsOf("GetRole").length;
    expect((await mount.loginCaller(sessionOf(worker), { role: "wild" })).status).toBe(200);
    expect((await mount.loginCaller(sessionOf(worker), { role: "wild" })).status).toBe(200);
    expect(cloud.callsOf("GetRole").length - before).toBe(1);
    await mount.write("role/wild-user", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/people/*` });
    expect((await mount.loginCaller(aliceKey, { role: "wild-user" })).status).toBe(200);
    const elsewhere = cloud.world.addRole(HOME, "Elsewhere", { path: "/other/" });
    expect((await mount.loginCaller(sessionOf(elsewhere), { role: "wild" })).status).toBe(400);
  });

  it("that was made again since it signed matches no wildcard", async () => {
    const role = cloud.world.addRole(HOME, "Ghost", { path: "/jobs/" });
    const session = sessionOf(role);
    cloud.world.recreateRole(role);
    expect(refusalOf(await mount.loginCaller(session, { role: "wild" }))[1]).toMatch(/does not belong/);
  });

  it("says so when IAM may not be asked", async () => {
    cloud.deny("GetRole");
    const other = cloud.world.addRole(HOME, "Unseen", { path: "/jobs/" });
    expect(refusalOf(await mount.loginCaller(sessionOf(other), { role: "wild" }))).toEqual([
      400,
      "error looking up full ARN of the principal: received error code 403 from IAM: AccessDenied",
    ]);
    cloud.heal();
  });

  it("of another account is looked up there", async () => {
    const gate = cloud.world.addRole(OTHER, "Gate", { trusts: [HOME] });
    const far = cloud.world.addRole(OTHER, "Far", { path: "/jobs/" });
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    await mount.write("role/far", { bound_iam_principal_arn: `arn:aws:iam::${OTHER}:role/jobs/*` });
    expect((await mount.loginCaller(sessionOf(far), { role: "far" })).status).toBe(200);
    await mount.call("DELETE", `config/sts/${OTHER}`);
  });
});

describe("the metadata of a principal", () => {
  it("is what the mount chose", async () => {
    const names = ["canonical_arn", "client_arn", "client_user_id", "inferred_entity_id"];
    await mount.write("config/identity", { iam_metadata: names });
    const session = sessionOf(worker);
    const { auth } = (await mount.loginCaller(session, { role: "people" })).body;
    expect(auth.metadata).toEqual({
      role_id: expect.any(String),
      canonical_arn: `arn:aws:iam::${HOME}:role/Worker`,
      client_arn: `arn:aws:sts::${HOME}:assumed-role/Worker/job-1`,
      client_user_id: worker.id,
    });
    await mount.write("config/identity", { iam_metadata: "default" });
  });
});

describe("one signature", () => {
  /** A principal whose logins nobody else has signed in this second, with a role for it at each mount. */
  async function principal(name: string, ...mounts: CloudMount[]): Promise<Key> {
    const user = cloud.world.addUser(HOME, name);
    for (const each of mounts) await each.write(`role/${name}`, { bound_iam_principal_arn: userArn(user) });
    return cloud.world.addKey(user);
  }

  beforeAll(() => {
    Object.assign(bindings, { TOKENS_PER_SIGNATURE: "10" });
  });

  it("gives as many tokens as are set, at every mount together and however many ask at once", async () => {
    const other = await mountCloud(root, "cloud-2", cloud, new DocumentSigner());
    const key = await principal("captured", mount, other);
    const fields = await signCaller(key);
    const logins = Array.from({ length: 14 }, (_, i) => (i % 2 ? other : mount).login({ role: "captured", ...fields }));
    const statuses = (await Promise.all(logins)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(10).fill(200), ...Array(4).fill(400)]);
    const refused = refusalOf(await mount.login({ role: "captured", ...fields }));
    expect(refused).toEqual([400, expect.stringContaining("sign the request again")]);
    const again = await signCaller(key, { now: Date.now() + 1000 });
    expect((await mount.login({ role: "captured", ...again })).status).toBe(200);
  });

  it("gives them to logins that make one: those that are refused do not count", async () => {
    const key = await principal("refused", mount);
    const fields = await signCaller(key);
    const login = () => mount.login({ role: "refused", ...fields });
    const entity = `identity/entity/id/${(await login()).body.auth.entity_id}`;
    await call("POST", entity, { token: root, body: { disabled: true } });
    for (let i = 0; i < 12; i++) expect((await login()).status).toBe(403);
    expect((await mount.login({ role: "people", ...fields })).status).toBe(400);
    await call("POST", entity, { token: root, body: { disabled: false } });
    for (let i = 1; i < 10; i++) expect((await login()).status).toBe(200);
    expect((await login()).status).toBe(400);
  });
});
