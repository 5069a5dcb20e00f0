import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let root: string;
let mount: CloudMount;

const sessionOf = (role: Role, name = "job-1") => cloud.world.addSession(role, name, Date.now() + 3_600_000);

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
});

const problemOf = async (token: string) => refusalOf(await mount.renew(token));

describe("the token of an instance", () => {
  async function tokenOf(role: string, fields: Record<string, unknown> = {}) {
    await mount.write(`role/${role}`, { auth_type: "vm", bound_account_id: HOME, token_ttl: "10m", ...fields });
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const { auth } = (await mount.loginInstance(instance, { role, nonce: "n" })).body;
    return { instance, token: auth.client_token };
  }

  it("is renewed by what the role says now", async () => {
    const { token } = await tokenOf("changing");
    await mount.write("role/changing", { token_ttl: "20m" });
    expect((await mount.renew(token)).body.auth.lease_duration).toBe(1200);
    await mount.write("role/changing", { token_ttl: "1m", token_max_ttl: "3m" });
    expect((await mount.renew(token, "1h")).body.auth.lease_duration).toBeLessThanOrEqual(180);
  });

  it("is renewed for a period that the role has by now", async () => {
    const { token } = await tokenOf("periodic");
    await mount.write("role/periodic", { token_period: "7m" });
    expect((await mount.renew(token)).body.auth.lease_duration).toBe(420);
  });

  it("keeps its own hard cap", async () => {
    const { token } = await tokenOf("capped", { token_explicit_max_ttl: "15m" });
    await mount.write("role/capped", { token_explicit_max_ttl: "0" });
    expect((await mount.renew(token, "1h")).body.auth.lease_duration).toBeLessThanOrEqual(900);
  });

  it("is not renewed when the instance no longer runs, and is again when it does", async () => {
    const { instance, token } = await tokenOf("running");
    instance.state = "stopped";
    expect(await problemOf(token)).toEqual([
      400,
      "failed to renew entry: failed to verify instance ID: instance is not in 'running' state",
    ]);
    instance.state = "running";
    expect((await mount.renew(token)).status).toBe(200);
  });

  it("is not renewed when its entry was deleted", async () => {
    const { instance, token } = await tokenOf("listed");
    await mount.call("DELETE", `identity-accesslist/${instance.id}`);
    expect(await problemOf(token)).toEqual([
      400,
      "failed to renew entry: failed to verify the access list identity entry of the instance",
    ]);
  });

  it("is not renewed without its role, or by one of the other kind", async () => {
    const { token } = await tokenOf("gone");
    await mount.call("DELETE", "role/gone");
    expect(await problemOf(token)).toEqual([400, "failed to renew entry: role entry not found"]);
    await mount.write("role/gone", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/*` });
    expect(await problemOf(token)).toEqual([400, "failed to renew entry: role entry not found"]);
  });

  it("keeps the memory of the instance for as long as it can live", async () => {
    const { instance, token } = await tokenOf("remembered");
    const read = async () =>
      dataOf<{
        expiration_time: string;
        pending_time: string;
      }>(await mount.call("GET", `identity-accesslist/${instance.id}`));
    const before = await read();
    await mount.write("role/remembered", { token_max_ttl: "4000h" });
    await mount.renew(token);
    const after = await read();
    expect(Date.parse(after.expiration_time)).toBeGreaterThan(Date.parse(before.expiration_time) + 3000 * 3_600_000);
    expect(after.pending_time).toBe(before.pending_time);
  });
});

describe("the token of a principal", () => {
  let worker: Role;

  async function tokenOf(role: string, fields: Record<string, unknown> = {}, session = "job-1") {
    worker = cloud.world.addRole(HOME, `Worker-${role}`, { path: "/jobs/" });
    await mount.write(`role/${role}`, { bound_iam_principal_arn: roleArn(worker), token_ttl: "10m", ...fields });
    const { auth } = (await mount.loginCaller(sessionOf(worker, session), { role })).body;
    return auth.client_token;
  }

  it("is renewed by what the role says now, without a call to the cloud", async () => {
    const token = await tokenOf("renewed");
    await mount.write("role/renewed", { token_ttl: "20m" });
    const before = cloud.calls.length;
    expect((await mount.renew(token)).body.auth.lease_duration).toBe(1200);
    expect(cloud.calls.length).toBe(before);
  });

  it("is not renewed when the role is no longer bound to it", async () => {
    const token = await tokenOf("unbound");
    const other = cloud.world.addRole(HOME, "OtherWorker");
    await mount.write("role/unbound", { bound_iam_principal_arn: roleArn(other) });
    expect(await problemOf(token)).toEqual([
      400,
      `failed to renew entry: role "unbound" no longer bound to ARN "arn:aws:iam::${HOME}:role/Worker-unbound"`,
    ]);
  });

  it("is not renewed for another principal of the same name", async () => {
    const token = await tokenOf("recreated");
    cloud.world.recreateRole(worker);
    expect((await mount.renew(token)).status).toBe(200);
    await mount.write("role/recreated", { bound_iam_principal_arn: roleArn(worker) });
    expect((await problemOf(token))[0]).toBe(400);
    // A wildcard asks IAM who has the name now.
    await mount.write("role/recreated", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/jobs/*` });
    expect((await problemOf(token))[1]).toMatch(/no longer bound/);
  });

  it("is renewed under a wildcard", async () => {
    const token = await tokenOf("wild", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/jobs/*` });
    expect((await mount.renew(token)).status).toBe(200);
    await mount.write("role/wild", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:role/other/*` });
    expect((await problemOf(token))[0]).toBe(400);
  });

  it("is not renewed when the role began to infer instances", async () => {
    const token = await tokenOf("inferring");
    await mount.write("role/inferring", { inferred_entity_type: "vm_instance", inferred_cloud_region: "eu-west-1" });
    expect(await problemOf(token)).toEqual([400, "failed to renew entry: no inferred entity ID found in the token"]);
  });

  it("is renewed while the inferred instance runs", async () => {
    const fleet = cloud.world.addRole(HOME, "Fleet");
    cloud.world.addProfile(fleet, "Fleet");
    const instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: "Fleet" });
    await mount.write("role/inferred", {
      inferred_entity_type: "vm_instance",
      inferred_cloud_region: "eu-west-1",
      bound_iam_principal_arn: roleArn(fleet),
    });
    const { auth } = (await mount.loginCaller(sessionOf(fleet, instance.id), { role: "inferred" })).body;
    expect((await mount.renew(auth.client_token)).status).toBe(200);
    instance.state = "terminated";
    expect((await problemOf(auth.client_token))[1]).toMatch(/not in 'running' state/);
  });

  it("is renewed whatever metadata the mount chose to show", async () => {
    await mount.write("config/identity", { iam_metadata: [], vm_metadata: [] });
    const token = await tokenOf("silent");
    expect((await mount.renew(token)).status).toBe(200);
    await mount.write("role/silent-vm", { auth_type: "vm", bound_account_id: HOME });
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const { auth } = (await mount.loginInstance(instance, { role: "silent-vm" })).body;
    expect(Object.keys(auth.metadata).sort()).toEqual(["nonce", "role", "role_tag_max_ttl"]);
    expect((await mount.renew(auth.client_token)).status).toBe(200);
    await mount.write("config/identity", { iam_metadata: "default", vm_metadata: "default" });
  });
});

it("a token of the aws vocabulary is renewed too", async () => {
  const aws = await mountCloud(root, "aws", cloud, new DocumentSigner(), "aws");
  await aws.write("role/web", { auth_type: "ec2", bound_account_id: HOME });
  const instance = cloud.world.addInstance(HOME, "eu-west-1");
  const { auth } = (await aws.loginInstance(instance, { role: "web" })).body;
  expect(auth.metadata).toMatchObject({ auth_type: "ec2" });
  expect((await aws.renew(auth.client_token)).status).toBe(200);
});
