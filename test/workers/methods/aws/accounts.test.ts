import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, OTHER, refusalOf, serverUser } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { type Outbound, replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Role, roleArn } from "../../../support/fake-cloud/world.ts";
import { bindings, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let sent: Outbound[];
let gate: Role;

beforeAll(async () => {
  root = await initialized();
  sent = replaceInternet(cloud);
  gate = cloud.world.addRole(OTHER, "Gate", { trusts: [HOME] });
});

async function mountWithRole(path: string): Promise<CloudMount> {
  const mount = await mountCloud(root, path, cloud, signer);
  await mount.write("role/any", { auth_type: "vm", bound_vpc_id: "vpc-1" });
  return mount;
}

const addInstance = (account: string, region = "eu-west-1") => cloud.world.addInstance(account, region);
const callsSince = (from: number) => cloud.calls.slice(from).map(({ action }) => action);

describe("an instance of another account", () => {
  it("is not looked up with the server's own credentials, also when they are in use already", async () => {
    const mount = await mountWithRole("foreign");
    expect((await mount.loginInstance(addInstance(HOME), { role: "any" })).status).toBe(200);
    const from = cloud.calls.length;
    expect(refusalOf(await mount.loginInstance(addInstance(OTHER), { role: "any" }))).toEqual([
      400,
      `failed to verify instance ID: no STS configuration found for account ID "${OTHER}"`,
    ]);
    expect(callsSince(from)).toEqual([]);
  });

  it("is looked up with a role of that account, assumed once", async () => {
    const mount = await mountWithRole("satellite");
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    const from = cloud.calls.length;
    for (const region of ["eu-west-1", "eu-west-1", "us-east-1"]) {
      expect((await mount.loginInstance(addInstance(OTHER, region), { role: "any" })).status).toBe(200);
    }
    expect(callsSince(from)).toEqual(["AssumeRole", "DescribeInstances", "DescribeInstances", "DescribeInstances"]);
    // Never with the session of the other account.
    expect((await mount.loginInstance(addInstance(HOME), { role: "any" })).status).toBe(200);
  });

  it("is looked up with the external ID that the role asks for, and with no other", async () => {
    const mount = await mountWithRole("external-id");
    const shared = cloud.world.addRole(OTHER, "Shared", { trusts: [HOME], externalId: "tenant-7" });
    const login = async () => (await mount.loginInstance(addInstance(OTHER), { role: "any" })).status;
    for (const [external_id, status] of [
      ["", 400],
      ["tenant-8", 400],
      ["tenant-7", 200],
      ["tenant-8", 400],
    ] as const) {
      await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(shared), external_id });
      expect([external_id, await login()]).toEqual([external_id, status]);
    }
  });

  it("is looked up again after a change of the credentials or of the role", async () => {
    const mount = await mountWithRole("changing");
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    const login = async () => (await mount.loginInstance(addInstance(OTHER), { role: "any" })).status;
    expect(await login()).toBe(200);
    const key = cloud.world.addKey(serverUser(cloud));
    await mount.write("config/client", { access_key: key.id, secret_key: key.secret });
    let from = cloud.calls.length;
    expect(await login()).toBe(200);
    expect(callsSince(from)).toEqual(["AssumeRole", "DescribeInstances"]);
    await mount.write("config/client", { secret_key: key.secret });
    from = cloud.calls.length;
    expect(await login()).toBe(200);
    expect(callsSince(from)).toEqual(["AssumeRole", "DescribeInstances"]);
    const second = cloud.world.addRole(OTHER, "SecondGate", { trusts: [HOME] });
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(second) });
    from = cloud.calls.length;
    expect(await login()).toBe(200);
    expect(cloud.calls.slice(from)[0]?.form.get("RoleArn")).toBe(roleArn(second));
    await mount.call("DELETE", `config/sts/${OTHER}`);
    expect(await login()).toBe(400);
  });

  it("is refused when the role is one of a third account", async () => {
    const mount = await mountWithRole("third");
    const wrong = cloud.world.addRole("333333333333", "Gate", { trusts: [HOME] });
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(wrong) });
    const from = cloud.calls.length;
    expect(refusalOf(await mount.loginInstance(addInstance(OTHER), { role: "any" }))[1]).toMatch(
      /is not the ARN of a role of that account$/,
    );
    expect(callsSince(from)).toEqual([]);
  });

  it("is refused when the role may not be assumed", async () => {
    const mount = await mountWithRole("untrusted");
    const closed = cloud.world.addRole(OTHER, "Closed");
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(closed) });
    expect(refusalOf(await mount.loginInstance(addInstance(OTHER), { role: "any" }))).toEqual([
      400,
      "failed to verify instance ID: received error code 403 from STS: AccessDenied",
    ]);
  });

  it("is looked up with a new session when the old one ended before its time", async () => {
    const mount = await mountWithRole("ended");
    await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(gate) });
    const login = async () => (await mount.loginInstance(addInstance(OTHER), { role: "any" })).status;
    expect(await login()).toBe(200);
    for (const key of [...cloud.world.keys]) if ("role" in key.holder) cloud.world.deleteKey(key.id);
    const from = cloud.calls.length;
    expect(await login()).toBe(200);
    expect(callsSince(from)).toEqual(["DescribeInstances", "AssumeRole", "DescribeInstances"]);
  });
});

describe("the full ARN of a principal", () => {
  it("is looked up with the external ID that the role asks for, and with no other", async () => {
    const mount = await mountCloud(root, "tenant", cloud, signer);
    const shared = cloud.world.addRole(OTHER, "Shared", { trusts: [HOME], externalId: "tenant-7" });
    await mount.write("role/wild", { bound_iam_principal_arn: `arn:aws:iam::${OTHER}:role/batch/*` });
    const batch = cloud.world.addRole(OTHER, "Batch", { path: "/batch/" });
    const session = cloud.world.addSession(batch, "job", Date.now() + 3_600_000);
    const login = async () => (await mount.loginCaller(session, { role: "wild" })).status;
    for (const [external_id, status] of [
      ["", 400],
      ["tenant-8", 400],
      ["tenant-7", 200],
      ["tenant-8", 400],
    ] as const) {
      await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(shared), external_id });
      expect([external_id, await login()]).toEqual([external_id, status]);
    }
  });

  it("is looked up again after a change of the credentials or of the role to assume", async () => {
    const mount = await mountCloud(root, "wildcards", cloud, signer);
    const gates = ["FirstGate", "NextGate"].map((name) => cloud.world.addRole(OTHER, name, { trusts: [HOME] }));
    const jobs = cloud.world.addRole(OTHER, "Jobs", { path: "/jobs/" });
    await mount.write("role/wild", { bound_iam_principal_arn: `arn:aws:iam::${OTHER}:role/jobs/*` });
    const session = cloud.world.addSession(jobs, "job", Date.now() + 3_600_000);
    const lookups = async () => {
      const before = cloud.callsOf("GetRole").length;
      expect((await mount.loginCaller(session, { role: "wild" })).status).toBe(200);
      return cloud.callsOf("GetRole").length - before;
    };
    for (const one of gates) {
      await mount.write(`config/sts/${OTHER}`, { sts_role: roleArn(one) });
      expect([await lookups(), await lookups()]).toEqual([1, 0]);
    }
    const key = cloud.world.addKey(serverUser(cloud));
    await mount.write("config/client", { access_key: key.id, secret_key: key.secret });
    expect([await lookups(), await lookups()]).toEqual([1, 0]);
  });
});

describe("credentials", () => {
  it("of a mount must be a pair", async () => {
    const mount = await mountWithRole("half");
    await mount.write("config/client", { secret_key: "" });
    expect(refusalOf(await mount.loginInstance(addInstance(HOME), { role: "any" }))[1]).toMatch(
      /static client credentials haven't been properly configured/,
    );
  });

  it("may be those of the installation", async () => {
    const mount = await mountWithRole("server");
    await mount.call("DELETE", "config/client");
    const login = () => mount.loginInstance(addInstance(HOME), { role: "any" });
    expect(refusalOf(await login())[1]).toMatch(/no credentials for the cloud's APIs are configured/);
    const key = cloud.world.addKey(serverUser(cloud));
    for (const names of [
      ["CLOUD_ACCESS_KEY", "CLOUD_SECRET_KEY"],
      ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
    ] as const) {
      await withSettings({ [names[0]]: key.id, [names[1]]: key.secret }, async () => {
        expect((await login()).status).toBe(200);
      });
      await withSettings({ [names[0]]: key.id }, async () => {
        expect(refusalOf(await login())[1]).toMatch(/are incomplete/);
      });
    }
    const session = cloud.world.addSession(cloud.world.addRole(HOME, "Server"), "x", Date.now() + 3_600_000);
    const settings = {
      CLOUD_ACCESS_KEY: session.id,
      CLOUD_SECRET_KEY: session.secret,
      CLOUD_SESSION_TOKEN: session.token ?? "",
      CLOUD_REGION: "eu-central-1",
    };
    const from = sent.length;
    await withSettings(settings, async () => expect((await login()).status).toBe(200));
    expect(sent.slice(from).map(({ host }) => host)).toEqual([
      "sts.eu-central-1.amazonaws.com",
      "ec2.eu-west-1.amazonaws.com",
    ]);
  });
});

describe("endpoints", () => {
  it("that are configured replace the cloud's own", async () => {
    const mount = await mountWithRole("endpoints");
    const endpoints = {
      endpoint: "https://ec2.example.com",
      iam_endpoint: "https://iam.example.com/",
      sts_endpoint: "https://sts.example.com",
      sts_region: "eu-west-3",
    };
    await mount.write("config/client", endpoints);
    const role = cloud.world.addRole(HOME, "Profiled");
    cloud.world.addProfile(role, "Profiled");
    await mount.write("role/any", { bound_iam_role_arn: roleArn(role) });
    const from = sent.length;
    const instance = cloud.world.addInstance(HOME, "eu-west-1", { profile: "Profiled" });
    expect((await mount.loginInstance(instance, { role: "any" })).status).toBe(200);
    expect(sent.slice(from).map(({ url }) => url)).toEqual([
      "https://sts.example.com/",
      "https://ec2.example.com/",
      "https://iam.example.com/",
    ]);
    expect(cloud.callsOf("GetCallerIdentity").at(-1)?.region).toBe("eu-west-3");
  });

  it("of the cloud are those of the partition and the region", async () => {
    const mount = await mountWithRole("partitions");
    const expected = {
      "eu-west-1": ["sts.us-east-1.amazonaws.com", "ec2.eu-west-1.amazonaws.com"],
      "us-gov-east-1": ["sts.us-gov-west-1.amazonaws.com", "ec2.us-gov-east-1.amazonaws.com"],
      "cn-northwest-1": ["sts.cn-north-1.amazonaws.com.cn", "ec2.cn-northwest-1.amazonaws.com.cn"],
    };
    for (const [region, hosts] of Object.entries(expected)) {
      const from = sent.length;
      expect((await mount.loginInstance(addInstance(HOME, region), { role: "any" })).status).toBe(200);
      expect(sent.slice(from).map(({ host }) => host)).toEqual(hosts);
    }
  });
});

async function withSettings(settings: Record<string, string>, run: () => Promise<void>): Promise<void> {
  Object.assign(bindings, settings);
  try {
    await run();
  } finally {
    for (const name of Object.keys(settings)) Reflect.deleteProperty(bindings, name);
  }
}
