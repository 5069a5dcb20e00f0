import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Instance, type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let mount: CloudMount;
let fleet: Role;
let instance: Instance;

const sessionOf = (role: Role, name: string) => cloud.world.addSession(role, name, Date.now() + 3_600_000);

beforeAll(async () => {
  const root = await initialized();
  replaceInternet(cloud);
  fleet = cloud.world.addRole(HOME, "Fleet");
  cloud.world.addProfile(fleet, "FleetProfile");
  instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: "FleetProfile", vpcId: "vpc-7" });
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await mount.write("role/inferring", {
    inferred_entity_type: "vm_instance",
    inferred_cloud_region: "eu-west-1",
    bound_vpc_id: "vpc-7",
    bound_region: "eu-west-1",
    bound_iam_role_arn: roleArn(fleet),
  });
});

const login = (key: ReturnType<typeof sessionOf>) => mount.loginCaller(key, { role: "inferring" });

describe("an instance inferred from a session", () => {
  it("is checked like the one of a document", async () => {
    await mount.write("config/identity", {
      iam_metadata: ["inferred_entity_type", "inferred_entity_id", "inferred_cloud_region"],
    });
    const { auth } = (await login(sessionOf(fleet, instance.id))).body;
    expect(auth.metadata).toEqual({
      role_id: expect.any(String),
      inferred_entity_type: "vm_instance",
      inferred_entity_id: instance.id,
      inferred_cloud_region: "eu-west-1",
    });
    const elsewhere = cloud.world.addInstance(HOME, "eu-west-1", { profile: "FleetProfile" });
    expect(refusalOf(await login(sessionOf(fleet, elsewhere.id)))).toEqual([
      400,
      'Error validating instance: VPC ID "vpc-1" does not satisfy the constraint on role "inferring"',
    ]);
  });

  it("must run, in the region of the role", async () => {
    const stopped = cloud.world.addInstance(HOME, "eu-west-1", {
      profile: "FleetProfile",
      vpcId: "vpc-7",
      state: "stopped",
    });
    expect(refusalOf(await login(sessionOf(fleet, stopped.id)))[1]).toMatch(/not in 'running' state/);
    const far = cloud.world.addInstance(HOME, "us-east-1", { profile: "FleetProfile", vpcId: "vpc-7" });
    expect(refusalOf(await login(sessionOf(fleet, far.id)))[1]).toMatch(/no reservations found/);
  });

  it("must be named by the session", async () => {
    expect(refusalOf(await login(sessionOf(fleet, "job-1")))).toEqual([
      400,
      "failed to verify instance ID: not the ID of an instance",
    ]);
    const user = cloud.world.addKey(cloud.world.addUser(HOME, "Carol"));
    expect(refusalOf(await login(user))[1]).toBe("only an assumed role can be inferred to be an instance");
  });

  it("must have the caller's role in its profile: the caller of AssumeRole chooses the session name", async () => {
    const other = cloud.world.addRole(HOME, "Other");
    expect(refusalOf(await login(sessionOf(other, instance.id)))).toEqual([
      400,
      "the session is named like an instance whose role is another one",
    ]);
    // The same name does not make it the same role.
    const before = sessionOf(fleet, instance.id);
    const again = cloud.world.recreateRole(fleet);
    expect((await login(before)).status).toBe(400);
    expect((await login(sessionOf(again, instance.id))).status).toBe(200);
    fleet = again;
  });

  it("needs a profile", async () => {
    const bare = cloud.world.addInstance(HOME, "eu-west-1", { vpcId: "vpc-7" });
    expect(refusalOf(await login(sessionOf(fleet, bare.id)))[1]).toMatch(/profile in the instance description is nil/);
  });
});
