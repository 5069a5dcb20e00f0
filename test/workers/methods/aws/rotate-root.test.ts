import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../../src/app/deployments.ts";
import { CloudAuth } from "../../../../src/methods/aws/mount/cloud-auth.ts";
import { atCalls, atNth, failing, losingAnswers } from "../../../support/calls.ts";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { CloudMount, HOME, refusalOf } from "../../../support/cloud-mount.ts";
import { runAs } from "../../../support/deployments.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { type Outbound, replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import type { Key, User } from "../../../support/fake-cloud/world.ts";
import { call, dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let sent: Outbound[];
let mount: CloudMount;
let user: User;
let key: Key;
let mounts = 0;

beforeAll(async () => {
  root = await initialized();
  sent = replaceInternet(cloud);
});

beforeEach(async () => {
  const path = `cloud${++mounts}`;
  await call("POST", `sys/auth/${path}`, { token: root, body: { type: "cloud" } });
  mount = new CloudMount(path, root, signer);
  user = cloud.world.addUser(HOME, path);
  key = cloud.world.addKey(user);
  await mount.write("config/client", { access_key: key.id, secret_key: key.secret });
});

afterEach(() => {
  cloud.heal();
});

const rotate = () => mount.call("POST", "config/rotate-root");
const keysOf = () => cloud.world.keys.filter((one) => "user" in one.holder && one.holder.user === user);
const configured = async () => dataOf<{ access_key: string }>(await mount.call("GET", "config/client")).access_key;

/** The configured key works: it is good for an unrelated call. */
async function expectWorking(): Promise<void> {
  await mount.write("config/certificate/test", { cloud_public_cert: signer.pem });
  await mount.write("role/any", { auth_type: "vm", bound_account_id: HOME });
  const instance = cloud.world.addInstance(HOME, "eu-west-1");
  expect((await mount.loginInstance(instance, { role: "any" })).status).toBe(200);
}

describe("rotate-root", () => {
  it("configures a new key and deletes the old one, in this order", async () => {
    const from = cloud.calls.length;
    const answer = await rotate();
    expect(answer.status).toBe(200);
    expect(answer.body.warnings).toBeNull();
    const [left, ...others] = keysOf();
    expect(others).toEqual([]);
    expect(answer.body.data).toEqual({ access_key: left?.id });
    expect(JSON.stringify(answer.body)).not.toContain(left?.secret);
    expect(await configured()).toBe(left?.id);
    const calls = cloud.calls.slice(from).map((one) => [one.action, one.accessKeyId]);
    expect(calls).toEqual([
      ["GetUser", key.id],
      ["CreateAccessKey", key.id],
      ["DeleteAccessKey", left?.id],
    ]);
    expect(sent.at(-1)?.host).toBe("iam.amazonaws.com");
    await expectWorking();
  });

  it.each(["before", "after"] as const)(
    "stores the new key once in a cluster: the call is lost %s it was carried out",
    async (when) => {
      runAs(CLUSTER);
      const { calls } = atNth(CloudAuth, "replaceAccessKey", 1, async (proceed) => {
        if (when === "after") await proceed();
        throw new Error("Network connection lost.");
      });
      const answer = await rotate();
      runAs(NETWORK);
      expect(answer.body.warnings).toBeNull();
      expect(calls).toHaveLength(2);
      expect(keysOf().map(({ id }) => id)).toEqual([await configured()]);
    },
  );

  it("waits until IAM knows the new key", async () => {
    const { addKey } = cloud.world;
    vi.spyOn(cloud.world, "addKey").mockImplementationOnce((owner) => {
      const made = addKey.call(cloud.world, owner);
      cloud.forgetNewKey(made.id, 3);
      return made;
    });
    const answer = await rotate();
    expect(answer.body.warnings).toBeNull();
    expect(keysOf().map(({ id }) => id)).toEqual([await configured()]);
  });

  it("needs a configured pair of keys", async () => {
    await mount.write("config/client", { secret_key: "" });
    expect(refusalOf(await rotate())).toEqual([400, "can't update secret_key because it's unset"]);
    await mount.write("config/client", { access_key: "" });
    expect(refusalOf(await rotate())).toEqual([400, "can't update access_key because it's unset"]);
    await mount.call("DELETE", "config/client");
    expect(refusalOf(await rotate())).toEqual([400, "can't update client config because it's unset"]);
  });

  it.each<[string, () => void, number, RegExp]>([
    ["GetUser is not allowed", () => cloud.deny("GetUser"), 400, /^error calling GetUser: .*AccessDenied/],
    [
      "the user has two keys",
      () => void cloud.world.addKey(user),
      400,
      /^error calling CreateAccessKey: .*LimitExceeded; .*delete it and try again$/,
    ],
    [
      "the answer to CreateAccessKey is lost",
      () => cloud.fail("iam", { kind: "unreachable" }, { action: "CreateAccessKey" }),
      503,
      /^error calling CreateAccessKey: IAM can't be reached; the configured access key stays/,
    ],
  ])("changes nothing when %s", async (_, arrange, status, message) => {
    arrange();
    const answer = await rotate();
    expect(answer.status).toBe(status);
    expect(refusalOf(answer)[1]).toMatch(message);
    expect(await configured()).toBe(key.id);
    cloud.heal();
    await expectWorking();
  });

  it("makes no second attempt at a creation whose answer was lost: it may have made a key", async () => {
    cloud.fail("iam", { kind: "unreachable" }, { action: "CreateAccessKey" });
    const before = cloud.callsOf("CreateAccessKey").length;
    await rotate();
    expect(cloud.callsOf("CreateAccessKey").length - before).toBe(1);
  });

  it("says which old key is left when that can't be deleted", async () => {
    cloud.deny("DeleteAccessKey");
    const answer = await rotate();
    expect(answer.status).toBe(200);
    expect(answer.body.warnings[0]).toContain(`the old one, ${key.id}, could not be deleted. Delete it by hand`);
    expect(await configured()).not.toBe(key.id);
    expect(keysOf()).toHaveLength(2);
    await expectWorking();
  });

  it("deletes the new key when another configuration was written during the rotation", async () => {
    cloud.beforeAnswer = async ({ action }) => {
      if (action !== "CreateAccessKey") return;
      cloud.beforeAnswer = async () => {};
      const other = cloud.world.addKey(cloud.world.addUser(HOME, "other"));
      await mount.write("config/client", { access_key: other.id, secret_key: other.secret });
    };
    expect(refusalOf(await rotate())).toEqual([
      400,
      "the client config was changed at the same time, so the access key was not rotated",
    ]);
    expect(keysOf().map(({ id }) => id)).toEqual([key.id]);
    await expectWorking();
  });

  it("continues when the object went away after it stored the key", async () => {
    losingAnswers(CloudAuth, "replaceAccessKey", () => true, 1);
    expect((await rotate()).status).toBe(200);
    expect(keysOf().map(({ id }) => id)).toEqual([await configured()]);
    await expectWorking();
  });

  it("keeps both keys when nobody can say which one is configured", async () => {
    const reset = atCalls(CloudAuth, "replaceAccessKey", () => {
      reset.end();
      failing(CloudAuth, "readClient", "the object is not there", 1);
      throw new Error("the object was reset");
    });
    const answer = await rotate();
    expect(answer.status).toBe(503);
    expect(refusalOf(answer)[1]).toMatch(new RegExp(`${key.id} or AKIA\\w+; both are good. Read config/client`));
    expect(keysOf()).toHaveLength(2);
    await expectWorking();
  });
});
