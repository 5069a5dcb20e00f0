import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Key, type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { call, dataOf, initialized, type Loose } from "../../../support/service.ts";

const cloud = new FakeCloud();
let root: string;
let mount: CloudMount;
let worker: Role;
let session: Key;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  worker = cloud.world.addRole(HOME, "Worker");
  session = cloud.world.addSession(worker, "job", Date.now() + 3_600_000);
  mount = await mountCloud(root, "aws", cloud, new DocumentSigner(), "aws");
  await mount.write("role/worker", { bound_iam_principal_arn: roleArn(worker) });
  await mount.write("role/web", { auth_type: "ec2", bound_account_id: HOME });
});

const aliasOf = async (entityId: string): Promise<Loose> => {
  const answer = await call("GET", `identity/entity/id/${entityId}`, { token: root });
  const [alias] = dataOf<{ aliases: Loose[] }>(answer).aliases;
  if (!alias) throw new Error("the entity has an alias");
  return alias;
};
const roleIdOf = async (role: string) => (await mount.call("GET", `role/${role}`)).body.data.role_id;

describe("the alias of a principal", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["role_id", () => roleIdOf("worker")],
    ["unique_id", async () => worker.id],
    ["full_arn", async () => `arn:aws:sts::${HOME}:assumed-role/Worker/job`],
  ])("is its %s", async (choice, expected) => {
    await mount.write("config/identity", { iam_alias: choice });
    const { auth } = (await mount.loginCaller(session)).body;
    const alias = await aliasOf(auth.entity_id as string);
    expect(alias.name).toBe(await expected());
    expect((await mount.loginCaller(session)).body.auth.entity_id).toBe(auth.entity_id);
  });

  it("carries the chosen metadata alone, in the vocabulary of the mount", async () => {
    await mount.write("config/identity", { iam_alias: "unique_id", iam_metadata: ["client_arn", "auth_type"] });
    const { auth } = (await mount.loginCaller(session)).body;
    expect((await aliasOf(auth.entity_id as string)).metadata).toEqual({
      auth_type: "iam",
      client_arn: `arn:aws:sts::${HOME}:assumed-role/Worker/job`,
    });
  });
});

describe("the alias of an instance", () => {
  it.each<[string, (instance: { id: string; imageId: string }) => Promise<unknown>]>([
    ["role_id", () => roleIdOf("web")],
    ["instance_id", async ({ id }) => id],
    ["image_id", async ({ imageId }) => imageId],
  ])("is its %s", async (choice, expected) => {
    await mount.write("config/identity", { ec2_alias: choice, ec2_metadata: ["ami_id"] });
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const { auth } = (await mount.loginInstance(instance, { role: "web" })).body;
    const alias = await aliasOf(auth.entity_id as string);
    expect(alias.name).toBe(await expected(instance));
    expect(alias.metadata).toEqual({ ami_id: instance.imageId });
  });
});

describe("an entity", () => {
  it("adds its policies to the token", async () => {
    const { auth } = (await mount.loginCaller(session)).body;
    await call("POST", `identity/entity/id/${auth.entity_id}`, { token: root, body: { policies: ["extra"] } });
    const again = (await mount.loginCaller(session)).body.auth;
    expect(again).toMatchObject({ identity_policies: ["extra"], policies: ["default", "extra"] });
  });

  it("that is disabled gets no token, and is not remembered as logged in", async () => {
    await mount.write("config/identity", { ec2_alias: "instance_id" });
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const { auth } = (await mount.loginInstance(instance, { role: "web", nonce: "n" })).body;
    const path = `identity/entity/id/${auth.entity_id}`;
    await call("POST", path, { token: root, body: { disabled: true } });
    const before = (await mount.call("GET", `identity-accesslist/${instance.id}`)).body.data;
    const late = "2026-11-02T10:00:00Z";
    expect(refusalOf(await mount.loginInstance(instance, { role: "web", nonce: "n" }, late))).toEqual([
      403,
      "permission denied",
    ]);
    expect((await mount.call("GET", `identity-accesslist/${instance.id}`)).body.data).toEqual(before);
    await call("POST", path, { token: root, body: { disabled: false } });
    expect((await mount.loginInstance(instance, { role: "web", nonce: "n" }, late)).status).toBe(200);
  });
});
