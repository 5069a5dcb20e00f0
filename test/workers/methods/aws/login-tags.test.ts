import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import type { Instance } from "../../../support/fake-cloud/world.ts";
import { dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let mount: CloudMount;
let instance: Instance;

const LATE = "2026-11-02T10:00:00Z";

beforeAll(async () => {
  const root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await mount.write("role/tagged", {
    auth_type: "vm",
    bound_account_id: HOME,
    role_tag: "GroveTag",
    token_policies: ["read", "write"],
    token_max_ttl: "2h",
    allow_instance_migration: true,
  });
});

beforeEach(() => {
  instance = cloud.world.addInstance(HOME, "eu-west-1");
});

async function tagOf(fields: Record<string, unknown>, role = "tagged"): Promise<string> {
  const answer = await mount.write(`role/${role}/tag`, fields);
  return dataOf<{ tag_value: string }>(answer).tag_value;
}

async function wear(fields: Record<string, unknown>): Promise<string> {
  const value = await tagOf(fields);
  instance.tags = { Name: "x", GroveTag: value };
  return value;
}

const login = (fields: Record<string, unknown> = {}, pendingTime?: string) =>
  mount.loginInstance(instance, { role: "tagged", ...fields }, pendingTime);

describe("a role tag", () => {
  it("narrows policies and lifetime", async () => {
    await wear({ policies: "read", max_ttl: "30m" });
    const { auth } = (await login({ nonce: "n" })).body;
    expect(auth).toMatchObject({ policies: ["default", "read"], lease_duration: 1800 });
    expect(auth.metadata).toMatchObject({ role: "tagged", role_tag_max_ttl: "30m" });
    const renewed = await mount.renew(auth.client_token, "2h");
    expect(renewed.body.auth.lease_duration).toBeLessThanOrEqual(1800);
  });

  it("without policies gives the role's, and with an empty list none but default", async () => {
    await wear({ max_ttl: "5h" });
    expect((await login({ nonce: "n" })).body.auth).toMatchObject({
      policies: ["default", "read", "write"],
      lease_duration: 7200,
    });
    await wear({ policies: [] });
    expect((await login({ nonce: "n" })).body.auth.policies).toEqual(["default"]);
  });

  it("is asked for, where the role has a key for it", async () => {
    for (const tags of [{}, { GroveTag: "" }, { grovetag: await tagOf({}) }]) {
      instance.tags = tags;
      expect(refusalOf(await login())).toEqual([400, 'missing tag with key "GroveTag" on the instance']);
    }
  });

  it("must be genuine", async () => {
    const value = await wear({ policies: "read" });
    const end = value.lastIndexOf(":");
    for (const [text, problem] of [
      ["nonsense", "invalid tag"],
      [value.replace(":p=read", ":p=read,write"), "role tag signature verification failed"],
      [value.replace(":p=read", ""), "role tag signature verification failed"],
      [value.slice(0, end), "invalid tag"],
    ] as const) {
      instance.tags = { GroveTag: text };
      expect(refusalOf(await login())).toEqual([400, problem]);
    }
  });

  it("must be of the role, in whatever casing the role is named", async () => {
    await mount.write("role/other", { auth_type: "vm", bound_account_id: HOME, role_tag: "GroveTag" });
    instance.tags = { GroveTag: await tagOf({}, "other") };
    // The key of another role signed it.
    expect(refusalOf(await login())).toEqual([400, "role tag signature verification failed"]);
    await wear({});
    const answer = await login({ role: "TAGGED", nonce: "n" });
    expect(answer.body.auth.metadata).toMatchObject({ role: "tagged" });
  });

  it("can be for one instance only", async () => {
    await wear({ instance_id: "i-0ffffffffffffffff" });
    expect(refusalOf(await login())).toEqual([400, "role tag is being used by an unauthorized instance"]);
    await wear({ instance_id: instance.id });
    expect((await login()).status).toBe(200);
  });

  it("must stay within the policies that the role has now", async () => {
    await mount.write("role/shrinking", {
      auth_type: "vm",
      bound_account_id: HOME,
      role_tag: "GroveTag",
      token_policies: ["read", "write"],
    });
    instance.tags = { GroveTag: await tagOf({ policies: "write" }, "shrinking") };
    await mount.write("role/shrinking", { token_policies: ["read"] });
    expect(refusalOf(await login({ role: "shrinking" }))).toEqual([
      400,
      "policies on the role tag must be subset of policies on the role",
    ]);
  });

  it("that is denied lets nobody in, and is forgiven by name", async () => {
    const value = await wear({ policies: "read" });
    const path = `roletag-denylist/${encodeURIComponent(value)}`;
    expect((await mount.call("POST", path)).status).toBe(204);
    expect(refusalOf(await login())).toEqual([400, "role tag is deny listed"]);
    expect((await mount.call("GET", `identity-accesslist/${instance.id}`)).status).toBe(404);
    await mount.call("DELETE", path);
    expect((await login()).status).toBe(200);
  });

  it("disables migration unless it allows it", async () => {
    await wear({});
    await login({ nonce: "old" });
    expect(refusalOf(await login({ nonce: "new" }, LATE))).toEqual([400, "client nonce mismatch"]);
    await wear({ allow_instance_migration: true });
    expect((await login({ nonce: "new" }, LATE)).status).toBe(200);
  });

  it("can end reauthentication", async () => {
    await wear({ disallow_reauthentication: true });
    expect((await login()).body.auth.metadata).not.toHaveProperty("nonce");
    expect(refusalOf(await login({ nonce: "n" }))).toEqual([400, "reauthentication is disabled"]);
  });
});
