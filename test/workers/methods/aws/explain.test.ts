import { beforeAll, describe, expect, it } from "vitest";
import { checkNames } from "../../../../src/methods/aws/login/check-order.ts";
import { DocumentSigner, documentOf, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../../support/cloud-mount.ts";
import type { LoginExplanation } from "../../../support/explanation.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { roleArn, userArn } from "../../../support/fake-cloud/world.ts";
import { call, createToken, dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let mount: CloudMount;

interface Explanation extends LoginExplanation {
  readonly auth_type: string;
}

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/web", {
    auth_type: "vm",
    bound_account_id: HOME,
    bound_region: ["eu-west-1", "eu-west-2"],
    token_policies: "web",
    token_ttl: "10m",
  });
});

const explain = async (body: Record<string, unknown>, at: CloudMount = mount) => {
  const answer = await at.call("POST", "explain/login", body);
  expect(answer.status).toBe(200);
  return dataOf<Explanation>(answer);
};
const INFERENCE = [
  "inferred_session",
  "instance",
  "bound_region",
  "bound_vm_instance_id",
  "bound_account_id",
  "bound_image_id",
  "bound_subnet_id",
  "bound_vpc_id",
  "bound_iam_instance_profile_arn",
  "bound_iam_role_arn",
  "inferred_role",
];
const outcomesOf = ({ checks }: Explanation) => Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));
const checkOf = ({ checks }: Explanation, wanted: string) => checks.find(({ name }) => name === wanted);
const failedOf = ({ checks }: Explanation) => checks.filter(({ outcome }) => outcome === "failed");
const machine = (region = "eu-west-1") => cloud.world.addInstance(HOME, region);
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

describe("the explanation of a login by document", () => {
  it("passes every check, and tells the token that a login would get", async () => {
    const instance = machine();
    const told = await explain({ role: "web", pkcs7: signer.sign(documentOf(instance)).pkcs7, nonce: "n" });
    expect(told).toMatchObject({ auth_type: "vm", allowed: true, token: { token_policies: ["default", "web"] } });
    expect(told.checks.map(({ name }) => name)).toEqual(checkNames("vm", null));
    expect(new Set(told.checks.map(({ outcome }) => outcome))).toEqual(new Set(["passed"]));
    expect(checkOf(told, "bound_region")).toMatchObject({ bound: ["eu-west-1", "eu-west-2"], actual: "eu-west-1" });
    expect(checkOf(told, "bound_subnet_id")).toMatchObject({ bound: [], message: null });
  });

  it("makes the same checks where only the proof names the role", async () => {
    const instance = machine();
    await mount.write(`role/${instance.imageId}`, { auth_type: "vm", bound_account_id: HOME });
    const told = await explain({ pkcs7: signer.sign(documentOf(instance)).pkcs7 });
    expect(told.checks.map(({ name }) => name)).toEqual(checkNames("vm", null));
    expect(new Set(told.checks.map(({ outcome }) => outcome))).toEqual(new Set(["passed"]));
  });

  it("makes no entry, no entity and no token", async () => {
    const instance = machine();
    const countsOf = async () => [
      (await mount.call("GET", "identity-accesslist?list=true")).body?.data?.keys?.length ?? 0,
      (await call("GET", "identity/entity/id?list=true", { token: root })).body?.data?.keys?.length ?? 0,
      (await call("GET", "auth/token/accessors?list=true", { token: root })).body.data.keys.length,
    ];
    const before = await countsOf();
    await explain({ role: "web", pkcs7: signer.sign(documentOf(instance)).pkcs7, nonce: "n" });
    expect(await countsOf()).toEqual(before);
    // Whoever comes first is still the first, with any nonce.
    expect((await mount.loginInstance(instance, { role: "web", nonce: "mine" })).status).toBe(200);
  });

  it("takes a document without a signature as said, in base64 or as JSON", async () => {
    const document = documentOf(machine());
    for (const identity of [base64(document), JSON.stringify(document)]) {
      const told = await explain({ role: "web", identity });
      expect(told.allowed).toBe(true);
      expect(outcomesOf(told)).toMatchObject({ document: "assumed", instance: "passed", access_list: "passed" });
    }
  });

  it("refuses what a login refuses, with the same words", async () => {
    const gone = machine();
    gone.state = "stopped";
    const known = machine();
    await mount.loginInstance(known, { role: "web", nonce: "mine" });
    const moved = machine("us-east-1");
    const forged = { ...signer.sign(documentOf(machine())), signature: signer.sign(documentOf(machine())).signature };
    await mount.write("role/near", { auth_type: "vm", bound_account_id: HOME, token_bound_cidrs: "10.0.0.0/8" });
    await mount.write("role/people", { auth_type: "iam", bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/*` });
    const pair = ({ identity, signature }: { identity: string; signature: string }) => ({ identity, signature });
    const proof = (instance: ReturnType<typeof machine>) => pair(signer.sign(documentOf(instance)));
    const refused: readonly [string, Record<string, unknown>][] = [
      ["role", { role: "nobody", ...proof(known) }],
      ["address", { role: "near", ...proof(known) }],
      ["auth_type", { role: "people", ...proof(known) }],
      ["document", { role: "web", ...pair(forged) }],
      ["nonce", { role: "web", ...proof(known), nonce: "n".repeat(129) }],
      ["instance", { role: "web", ...proof(gone) }],
      ["bound_region", { role: "web", ...proof(moved) }],
      ["access_list", { role: "web", ...proof(known), nonce: "other" }],
    ];
    for (const [name, fields] of refused) {
      const told = await explain(fields);
      expect(told.allowed).toBe(false);
      expect(told).not.toHaveProperty("token");
      const login = await mount.login(fields);
      const message = login.body.errors[0];
      expect(failedOf(told)).toMatchObject([{ name, message }]);
      const at = told.checks.findIndex((check) => check.name === name);
      const outcomes = told.checks.map(({ outcome }) => outcome);
      expect(outcomes.slice(at + 1).every((outcome) => outcome === "not_reached")).toBe(true);
      expect(outcomes.slice(0, at).every((outcome) => outcome === "passed")).toBe(true);
    }
  });

  it("judges the address that it is given", async () => {
    const identity = base64(documentOf(machine()));
    await mount.write("role/near", { auth_type: "vm", bound_account_id: HOME, token_bound_cidrs: "10.0.0.0/8" });
    const near = await explain({ role: "near", identity, client_address: "10.1.2.3" });
    expect(near.allowed).toBe(true);
    expect(checkOf(near, "address")).toMatchObject({ bound: ["10.0.0.0/8"], actual: "10.1.2.3" });
    expect((await explain({ role: "near", identity, client_address: "192.0.2.1" })).allowed).toBe(false);
  });

  it("tells a denied role tag", async () => {
    await mount.write("role/tagged", { auth_type: "vm", bound_account_id: HOME, role_tag: "GroveTag" });
    const instance = machine();
    const identity = base64(documentOf(instance));
    expect(failedOf(await explain({ role: "tagged", identity }))).toMatchObject([{ name: "role_tag" }]);
    const tag = dataOf<{ tag_value: string }>(await mount.write("role/tagged/tag", {})).tag_value;
    instance.tags = { GroveTag: tag };
    expect((await explain({ role: "tagged", identity })).allowed).toBe(true);
    await mount.write(`roletag-denylist/${encodeURIComponent(tag)}`, {});
    expect(failedOf(await explain({ role: "tagged", identity }))).toMatchObject([{ name: "deny_list", actual: tag }]);
  });
});

describe("the explanation of a login by principal", () => {
  it("takes an ARN as said, and asks IAM for the unique id that a role remembers", async () => {
    const ann = cloud.world.addUser(HOME, "ann");
    const bob = cloud.world.addUser(HOME, "bob");
    await mount.write("role/ann", { auth_type: "iam", bound_iam_principal_arn: userArn(ann), token_policies: "a" });
    const told = await explain({ role: "ann", arn: userArn(ann) });
    expect(told).toMatchObject({ auth_type: "iam", allowed: true, token: { token_policies: ["a", "default"] } });
    expect(told.checks.map(({ name }) => name)).toEqual(checkNames("iam", null));
    expect(outcomesOf(told)).toMatchObject({ caller: "assumed", principal: "passed" });
    const other = await explain({ role: "ann", arn: userArn(bob) });
    expect(failedOf(other)).toMatchObject([{ name: "principal", bound: [userArn(ann)], actual: userArn(bob) }]);
    expect(outcomesOf(other)).toMatchObject({ entity: "not_reached", token: "not_reached" });
  });

  it("refuses no principal for a look-up that a login does not make", async () => {
    const dan = cloud.world.addUser(HOME, "dana");
    const eve = cloud.world.addUser(HOME, "eve");
    const names = { auth_type: "iam", bound_iam_principal_arn: userArn(dan) };
    await mount.write("role/by-id", names);
    const bare = await mountCloud(root, "bare", cloud, signer);
    await bare.write("role/by-id", names);
    await bare.write("role/by-name", { ...names, resolve_cloud_unique_ids: false });
    const { body } = await bare.call("DELETE", "config/client");
    expect(body?.errors).toBeUndefined();
    const key = cloud.world.addKey(dan);
    for (const role of ["by-name", "by-id"]) expect((await bare.loginCaller(key, { role })).status).toBe(200);
    const byName = await explain({ role: "by-name", arn: userArn(dan) }, bare);
    expect(byName).toMatchObject({ allowed: true });
    expect(checkOf(byName, "principal")).toMatchObject({ outcome: "passed", message: null });
    const byId = await explain({ role: "by-id", arn: userArn(dan) }, bare);
    expect(byId).toMatchObject({ allowed: true });
    expect(checkOf(byId, "principal")).toMatchObject({
      outcome: "assumed",
      bound: [userArn(dan)],
      message: expect.stringMatching(/^could not be checked: no credentials/),
    });
    for (const role of ["by-name", "by-id"]) {
      expect((await explain({ role, arn: userArn(eve) }, bare)).allowed).toBe(false);
    }
  });

  it("has STS say who signed a request, as a login does", async () => {
    const cleo = cloud.world.addUser(HOME, "cleo");
    await mount.write("role/cleo", { auth_type: "iam", bound_iam_principal_arn: userArn(cleo) });
    const told = await explain({ role: "cleo", ...(await signCaller(cloud.world.addKey(cleo))) });
    expect(told.allowed).toBe(true);
    expect(checkOf(told, "caller")).toMatchObject({ outcome: "passed", actual: userArn(cleo) });
    const wrong = { ...cloud.world.addKey(cleo), secret: "made up" };
    expect(failedOf(await explain({ role: "cleo", ...(await signCaller(wrong)) }))).toMatchObject([{ name: "caller" }]);
  });

  it("tells how an instance is inferred", async () => {
    const fleet = cloud.world.addRole(HOME, "Fleet");
    cloud.world.addProfile(fleet, "Fleet");
    const instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: "Fleet" });
    const inference = { inferred_entity_type: "vm_instance", inferred_cloud_region: "eu-west-1" };
    await mount.write("role/fleet", { auth_type: "iam", bound_iam_principal_arn: roleArn(fleet), ...inference });
    const session = `arn:aws:sts::${HOME}:assumed-role/Fleet/${instance.id}`;
    const told = await explain({ role: "fleet", arn: session });
    expect(told.checks.map(({ name }) => name)).toEqual([
      ...checkNames("iam", null).slice(0, -2),
      ...INFERENCE,
      "entity",
      "token",
    ]);
    expect(told.allowed).toBe(true);
    const plain = await explain({ role: "fleet", arn: roleArn(fleet) });
    expect(failedOf(plain)).toMatchObject([{ name: "inferred_session" }]);
    expect(outcomesOf(plain)).toMatchObject({ instance: "not_reached", inferred_role: "not_reached" });
  });

  it.each([
    { type: "cloud", kind: "vm_instance", region: "inferred_cloud_region", path: "cloud" },
    { type: "aws", kind: "ec2_instance", region: "inferred_aws_region", path: "aws-inferring" },
  ] as const)(
    "passes every check of an inferred $kind, said or signed, as a login does",
    async ({ type, kind, region, path }) => {
      const at = type === "cloud" ? mount : await mountCloud(root, path, cloud, signer, type);
      const ring = cloud.world.addRole(HOME, `Ring-${type}`);
      cloud.world.addProfile(ring, `Ring-${type}`);
      const instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: `Ring-${type}`, vpcId: "vpc-ring" });
      await at.write("role/ring", {
        auth_type: "iam",
        inferred_entity_type: kind,
        [region]: "eu-west-1",
        bound_vpc_id: "vpc-ring",
        bound_iam_role_arn: roleArn(ring),
        token_policies: "ring",
      });
      const session = cloud.world.addSession(ring, instance.id, Date.now() + 3_600_000);
      const said = await explain(
        { role: "ring", arn: `arn:aws:sts::${HOME}:assumed-role/Ring-${type}/${instance.id}` },
        at,
      );
      const signed = await explain({ role: "ring", ...(await signCaller(session)) }, at);
      for (const told of [said, signed]) {
        expect(told).toMatchObject({ auth_type: "iam", allowed: true, token: { token_policies: ["default", "ring"] } });
        expect(failedOf(told)).toEqual([]);
        expect(outcomesOf(told)).toMatchObject({
          inferred_session: "passed",
          instance: "passed",
          inferred_role: "passed",
        });
        expect(checkOf(told, "inferred_session")?.actual).toBe(instance.id);
      }
      expect([checkOf(said, "caller")?.outcome, checkOf(signed, "caller")?.outcome]).toEqual(["assumed", "passed"]);
      expect((await at.loginCaller(session, { role: "ring" })).status).toBe(200);
    },
  );

  it("tells that the entity of a holder is disabled", async () => {
    const dan = cloud.world.addUser(HOME, "dan");
    await mount.write("config/identity", { iam_alias: "full_arn" });
    await mount.write("role/dan", { auth_type: "iam", bound_iam_principal_arn: userArn(dan) });
    const { auth } = (await mount.loginCaller(cloud.world.addKey(dan), { role: "dan" })).body;
    await call("POST", `identity/entity/id/${auth.entity_id}`, { token: root, body: { disabled: true } });
    expect(failedOf(await explain({ role: "dan", arn: userArn(dan) }))).toMatchObject([
      { name: "entity", actual: userArn(dan) },
    ]);
    await mount.write("config/identity", { iam_alias: "role_id" });
  });
});

const noPrincipal = (why: string) =>
  `this is not the ARN of a principal (${why}). One has the form arn:aws:iam::123456789012:role/NAME, arn:aws:iam::123456789012:user/NAME or, of a session, arn:aws:sts::123456789012:assumed-role/ROLE/SESSION`;

describe("the endpoint", () => {
  it("is for those whose policies let them update its path", async () => {
    const policy =
      'path "auth/cloud/login" { capabilities = ["update"] }\npath "auth/cloud/explain/login" { capabilities = ["read"] }';
    await call("POST", "sys/policies/acl/near", { token: root, body: { policy } });
    const { client_token: token } = await createToken(root, { policies: ["near"] });
    const body = { role: "web", identity: base64(documentOf(machine())) };
    expect((await call("POST", "auth/cloud/explain/login", { token, body })).status).toBe(403);
    expect((await call("POST", "auth/cloud/explain/login", { body })).status).toBe(403);
  });

  it.each([
    [{ role: "web" }, "didn't supply required authentication values"],
    [{ role: "web", arn: "arn" }, noPrincipal("unrecognized arn: contains 1 colon-separated parts, expected 6")],
    [{ role: "web", arn: "arn:aws:iam::12:role/web" }, noPrincipal("unrecognized arn: names no account")],
    [
      { role: "web", arn: "arn:aws:iam::123456789012:instance-profile/web" },
      noPrincipal("it is that of an instance profile"),
    ],
    [{ role: "web", identity: "{}" }, "instance identity document has no valid accountId"],
    [{ role: "web", arn: "a", pkcs7: "b" }, "supply an arn or a proof, not both"],
    [{ role: "web", identity: `{${" ".repeat(9_000)}` }, "instance identity document is too large"],
  ])("%j is a mistake of the client", async (body, message) => {
    const answer = await mount.call("POST", "explain/login", body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("uses the vocabulary of an aws mount", async () => {
    const aws = await mountCloud(root, "aws", cloud, signer, "aws");
    await aws.write("role/web", { auth_type: "ec2", bound_ami_id: "ami-1" });
    const told = await explain({ role: "web", identity: base64(documentOf(machine())) }, aws);
    expect(told.auth_type).toBe("ec2");
    expect(checkOf(told, "auth_type")).toMatchObject({ bound: ["ec2"], actual: "ec2" });
    expect(failedOf(told)).toMatchObject([{ name: "bound_ami_id", bound: ["ami-1"] }]);
    expect(failedOf(told)[0]?.message).toMatch(/^Error validating instance: AMI ID/);
  });

  it("asks the cloud no more than a login does", async () => {
    const fields = { role: "web", pkcs7: signer.sign(documentOf(machine())).pkcs7, nonce: "n" };
    const callsOf = async (work: () => Promise<unknown>) => {
      const before = cloud.calls.length;
      await work();
      return cloud.calls.length - before;
    };
    const explained = await callsOf(() => explain(fields));
    expect(explained).toBe(await callsOf(() => mount.login(fields)));
  });

  it("is counted by the quota of logins", async () => {
    await call("POST", "sys/quotas/rate-limit/web", { token: root, body: { path: "auth/cloud/login", rate: 1 } });
    const login = () => mount.login({ role: "web", pkcs7: "MIA" });
    expect(
      (await mount.call("POST", "explain/login", { role: "nobody", arn: `arn:aws:iam::${HOME}:user/x` })).status,
    ).toBe(200);
    expect((await login()).status).toBe(429);
    await call("DELETE", "sys/quotas/rate-limit/web", { token: root });
  });
});
