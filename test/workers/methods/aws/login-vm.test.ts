import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { documents } from "../../../data/cloud/signed-documents.json";
import { DocumentSigner, documentOf } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { xml } from "../../../support/fake-cloud/request.ts";
import { type Instance, type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { call, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let mount: CloudMount;
let instance: Instance;
let instanceRole: Role;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  instanceRole = cloud.world.addRole(HOME, "WebServer", { path: "/fleet/" });
  cloud.world.addProfile(instanceRole, "Web");
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_policies: "web", token_ttl: "10m" });
});

/** What EC2 says about the instance, with a profile of this ARN. */
const describedWithProfile = (
  arn: string,
) => `<DescribeInstancesResponse><reservationSet><item><ownerId>${HOME}</ownerId>
  <instancesSet><item><instanceId>${instance.id}</instanceId><instanceState><name>running</name></instanceState>
  <iamInstanceProfile><arn>${arn}</arn></iamInstanceProfile></item></instancesSet></item></reservationSet>
  </DescribeInstancesResponse>`;

beforeEach(() => {
  instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: "Web" });
});

describe("a login by identity document", () => {
  it("gives a token by pkcs7, with a nonce for the next login that nobody else can look up", async () => {
    const answer = await mount.loginInstance(instance, { role: "web" });
    expect(answer.status).toBe(200);
    const { auth } = answer.body;
    expect(auth).toMatchObject({
      policies: ["default", "web"],
      lease_duration: 600,
      renewable: true,
      orphan: true,
      token_type: "service",
    });
    expect(auth.metadata).toEqual({
      role: "web",
      role_tag_max_ttl: "0s",
      account_id: HOME,
      auth_type: "vm",
      nonce: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth.client_token });
    expect(seen.body.data.meta).not.toHaveProperty("nonce");
    expect(seen.body.data).toMatchObject({ display_name: "cloud", path: "auth/cloud/login" });
  });

  it("gives a token by identity and signature", async () => {
    const { identity, signature } = signer.sign(documentOf(instance));
    expect((await mount.login({ role: "web", identity, signature })).status).toBe(200);
  });

  it("takes documents that the real cloud signed, by the built-in certificates", async () => {
    const [first, second] = documents;
    const account = String(JSON.parse(first?.document ?? "").accountId);
    const gate = cloud.world.addRole(account, "Gate", { trusts: [HOME] });
    await mount.write(`config/sts/${account}`, { sts_role: roleArn(gate) });
    await mount.write("role/real", { auth_type: "vm", bound_account_id: account });
    for (const one of documents) {
      const { instanceId: id, imageId, region } = JSON.parse(one.document);
      cloud.world.addInstance(account, region, { id, imageId });
    }
    const identity = Buffer.from(first?.document ?? "").toString("base64");
    for (const fields of [{ pkcs7: first?.rsa2048 }, { identity, signature: first?.signature }]) {
      expect((await mount.login({ role: "real", nonce: "n", ...fields })).status).toBe(200);
    }
    expect(refusalOf(await mount.login({ role: "real", pkcs7: second?.pkcs7 }))).toEqual([
      400,
      expect.stringMatching(/SHA-1 are refused.*rsa2048.*ALLOW_SHA1_SIGNATURES/),
    ]);
  });

  it("takes the role named by the image when the client names none", async () => {
    await mount.write(`role/${instance.imageId}`, { auth_type: "vm", bound_image_id: instance.imageId });
    const answer = await mount.loginInstance(instance);
    expect(answer.body.auth.metadata).toMatchObject({ role: instance.imageId });
  });

  it("can be wrapped", async () => {
    const answer = await mount.loginInstance(instance, { role: "web" }, undefined, { "X-Vault-Wrap-TTL": "60" });
    expect(answer.body).toMatchObject({ auth: null, wrap_info: { ttl: 60, creation_path: "auth/cloud/login" } });
    const inner = await call("POST", "sys/wrapping/unwrap", { token: answer.body.wrap_info.token });
    expect(inner.body.auth.policies).toEqual(["default", "web"]);
  });

  it("warns of fields that mean nothing, and looks at no token", async () => {
    const { pkcs7 } = signer.sign(documentOf(instance));
    const fields = { body: { role: "web", pkcs7, favourite: "x" }, token: "garbage" };
    const answer = await call("POST", "auth/cloud/login", fields);
    expect(answer.body.warnings).toContain("Endpoint ignored these unrecognized parameters: [favourite]");
  });

  it("exists only as a write", async () => {
    for (const method of ["GET", "DELETE"]) {
      expect((await call(method, "auth/cloud/login", { token: root })).status, method).toBe(405);
    }
  });
});

describe("the audit log of a login", () => {
  const linesOf = async (work: () => Promise<unknown>) => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    await work();
    log.mockRestore();
    return lines.map((line) => JSON.parse(line)).filter(({ path }) => path === "auth/cloud/login");
  };

  it("has a line before it, and who got which token after", async () => {
    let answer: Awaited<ReturnType<typeof mount.loginInstance>> | undefined;
    const found = await linesOf(async () => {
      answer = await mount.loginInstance(instance, { role: "Web" });
    });
    const auth = {
      accessor: answer?.body.auth.accessor,
      policies: ["default", "web"],
      entity_id: expect.stringMatching(/./),
      metadata: { role: "web", account_id: HOME, auth_type: "vm", nonce: expect.stringMatching(/^hmac-sha256:/) },
    };
    expect(found).toMatchObject([
      { type: "request", mount: "auth/cloud/", data: { pkcs7: expect.stringMatching(/^hmac-sha256:/) } },
      {
        type: "response",
        status: 200,
        role: "web",
        principal: instance.id,
        response: { auth },
        // There is no other caller.
        auth,
      },
    ]);
    // The nonce is a secret: its holder may log in again.
    expect(JSON.stringify(found)).not.toContain(answer?.body.auth.metadata.nonce);
  });

  it("has who was refused, as soon as that is proved", async () => {
    await mount.write("role/other", { auth_type: "vm", bound_account_id: OTHER });
    const found = await linesOf(() => mount.loginInstance(instance, { role: "other" }));
    expect(found[1]).toMatchObject({ status: 400, role: "other", principal: instance.id });
    expect((await linesOf(() => mount.login({ role: "web", pkcs7: "***" })))[1]).not.toHaveProperty("principal");
  });
});

describe("what is asked of the fields", () => {
  const neither =
    "either pkcs7 or a tuple containing the instance identity document and its SHA256 RSA signature needs to be provided";
  const both =
    "both pkcs7 and a tuple containing the instance identity document and its SHA256 RSA signature is supplied; provide only one";
  it.each<[string, Record<string, unknown>, string | RegExp]>([
    ["nothing", {}, "didn't supply required authentication values"],
    ["a part", { identity: "e30=" }, "didn't supply required authentication values"],
    ["empty values", { identity: "", signature: "" }, neither],
    ["null", { pkcs7: null }, "didn't supply required authentication values"],
    ["both forms", { identity: "e30=", signature: "AAAA", pkcs7: "AAAA" }, both],
    ["an object", { pkcs7: {} }, /error converting input for field "pkcs7": expected a string/],
    ["no base64", { pkcs7: "***" }, "failed to base64 decode the PKCS#7 signature"],
    ["no base64 in identity", { identity: "***", signature: "AAAA" }, /failed to base64 decode the instance identity/],
    ["no base64 in signature", { identity: "e30=", signature: "***" }, /failed to base64 decode the SHA256 RSA sig/],
  ])("%s is refused", async (_, fields, message) => {
    const [status, text] = refusalOf(await mount.login({ role: "web", ...fields }));
    expect(status).toBe(400);
    expect(text).toMatch(message);
  });

  it("stray fields of the other kind do not count", async () => {
    const answer = await mount.loginInstance(instance, { role: "web", iam_http_request_method: "POST" });
    expect(answer.status).toBe(200);
  });
});

describe("the role of a login", () => {
  it("must exist, whatever the name looks like", async () => {
    const unknown = await mount.loginInstance(instance, { role: "nobody" });
    expect(refusalOf(unknown)).toEqual([400, 'entry for role "nobody" not found']);
    const strange = await mount.loginInstance(instance, { role: "s.secret/../x" });
    expect(refusalOf(strange)).toEqual([400, "entry for role not found"]);
  });

  it("must take this kind of login", async () => {
    await mount.write("role/people", {
      auth_type: "iam",
      bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*`,
    });
    const answer = await mount.loginInstance(instance, { role: "people" });
    expect(refusalOf(answer)).toEqual([400, "auth method vm not allowed for role people"]);
  });

  it("binds to networks, before the cloud is asked", async () => {
    await mount.write("role/near", { auth_type: "vm", bound_account_id: HOME, token_bound_cidrs: "10.0.0.0/8" });
    const before = cloud.calls.length;
    const from = (address: string) => ({ "CF-Connecting-IP": address });
    const far = await mount.loginInstance(instance, { role: "near" }, undefined, from("192.0.2.1"));
    expect(refusalOf(far)).toEqual([403, "permission denied"]);
    expect(refusalOf(await mount.loginInstance(instance, { role: "near" }))).toEqual([403, "permission denied"]);
    expect(cloud.calls.length).toBe(before);
    const near = await mount.loginInstance(instance, { role: "near" }, undefined, from("10.1.2.3"));
    const token = near.body.auth.client_token;
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
    const inside = await call("GET", "auth/token/lookup-self", { token, headers: from("10.9.9.9") });
    expect(inside.body.data.bound_cidrs).toEqual(["10.0.0.0/8"]);
  });

  it("can tie the token to the very address", async () => {
    await mount.write("role/tied", { auth_type: "vm", bound_account_id: HOME, token_strictly_bind_ip: true });
    expect((await mount.loginInstance(instance, { role: "tied" })).status).toBe(403);
    const headers = { "CF-Connecting-IP": "192.0.2.7" };
    const { auth } = (await mount.loginInstance(instance, { role: "tied" }, undefined, headers)).body;
    const look = (address: string) =>
      call("GET", "auth/token/lookup-self", { token: auth.client_token, headers: { "CF-Connecting-IP": address } });
    expect((await look("192.0.2.7")).status).toBe(200);
    expect((await look("192.0.2.8")).status).toBe(403);
  });
});

describe("the instance of a login", () => {
  it.each(["stopped", "terminated", "pending", "shutting-down"])("must run: %s", async (state) => {
    const stopped = cloud.world.addInstance(HOME, "eu-west-1", { state });
    expect(refusalOf(await mount.loginInstance(stopped, { role: "web" }))).toEqual([
      400,
      "failed to verify instance ID: instance is not in 'running' state",
    ]);
  });

  it("must exist in the region of its document", async () => {
    const { pkcs7 } = signer.sign({ ...documentOf(instance), region: "eu-west-2" });
    expect(refusalOf(await mount.login({ role: "web", pkcs7 }))[1]).toMatch(/no reservations found/);
    const nowhere = signer.sign({ ...documentOf(instance), region: "xx-none-1" });
    expect(refusalOf(await mount.login({ role: "web", pkcs7: nowhere.pkcs7 }))).toEqual([
      400,
      "failed to verify instance ID: the region of the instance is not a region of the cloud",
    ]);
  });

  it.each<[string, (one: Instance) => string, string]>([
    ["bound_region", ({ region }) => region, "us-east-1"],
    ["bound_vm_instance_id", ({ id }) => id, "i-0000000000000000"],
    ["bound_account_id", ({ accountId }) => accountId, "333333333333"],
    ["bound_image_id", ({ imageId }) => imageId, "ami-1"],
    ["bound_subnet_id", ({ subnetId }) => subnetId, "subnet-2"],
    ["bound_vpc_id", ({ vpcId }) => vpcId, "vpc-2"],
    [
      "bound_iam_instance_profile_arn",
      ({ accountId }) => `arn:aws:iam::${accountId}:instance-profile/Web`,
      `arn:aws:iam::${HOME}:instance-profile/Other*`,
    ],
    [
      "bound_iam_instance_profile_arn",
      ({ accountId }) => `arn:aws:iam::${accountId}:instance-profile/W*`,
      `arn:aws:iam::${HOME}:instance-profile/W*b`,
    ],
    ["bound_iam_role_arn", () => roleArn(instanceRole), `arn:aws:iam::${HOME}:role/WebServer`],
    ["bound_iam_role_arn", () => `arn:aws:iam::${HOME}:role/fleet/*`, `arn:aws:iam::${HOME}:role/flee`],
  ])("satisfies %s by one of its values", async (field, value, other) => {
    await mount.write("role/bound", { auth_type: "vm", [field]: [other, value(instance)] });
    expect((await mount.loginInstance(instance, { role: "bound" })).status).toBe(200);
    await mount.call("DELETE", "role/bound");
    await mount.write("role/bound", { auth_type: "vm", [field]: [other] });
    const [status, text] = refusalOf(await mount.loginInstance(instance, { role: "bound" }));
    expect(status).toBe(400);
    expect(text).toMatch(/^Error validating instance: .+ role "bound"$/);
    await mount.call("DELETE", "role/bound");
  });

  it("satisfies no constraint on a profile that it does not have", async () => {
    const bare = cloud.world.addInstance(HOME, "eu-west-1");
    for (const [field, value] of [
      ["bound_iam_instance_profile_arn", `arn:aws:iam::${HOME}:instance-profile/*`],
      ["bound_iam_role_arn", `arn:aws:iam::${HOME}:role/*`],
    ] as const) {
      await mount.write(`role/${field}`, { auth_type: "vm", [field]: value });
      expect(refusalOf(await mount.loginInstance(bare, { role: field }))[1]).toMatch(/description is nil$/);
    }
  });

  it("has no role by the profile of another account", async () => {
    await mount.write("role/by-role", { auth_type: "vm", bound_iam_role_arn: roleArn(instanceRole) });
    expect((await mount.loginInstance(instance, { role: "by-role", nonce: "n" })).status).toBe(200);
    cloud.fail("ec2", {
      kind: "reply",
      reply: xml(200, describedWithProfile(`arn:aws:iam::${OTHER}:instance-profile/Web`)),
    });
    expect(refusalOf(await mount.loginInstance(instance, { role: "by-role", nonce: "n" }))[1]).toMatch(
      /profile ARN in the instance description is not one of the account$/,
    );
    cloud.heal();
  });
});

describe("the metadata of an instance", () => {
  it("is what the mount chose", async () => {
    await mount.write("config/identity", { vm_metadata: ["instance_id", "region", "image_id"] });
    const { auth } = (await mount.loginInstance(instance, { role: "web", nonce: "n" })).body;
    expect(auth.metadata).toEqual({
      role: "web",
      role_tag_max_ttl: "0s",
      instance_id: instance.id,
      image_id: instance.imageId,
      region: "eu-west-1",
    });
    await mount.write("config/identity", { vm_metadata: "default" });
  });
});
