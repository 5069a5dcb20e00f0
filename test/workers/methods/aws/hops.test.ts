import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { forgetCopies } from "../../../../src/methods/aws/mount/login-settings.ts";
import { forgetInstallation } from "../../../../src/system/installation.ts";
import { cloudObject } from "../../../support/cloud.ts";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { Meter } from "../../../support/meter.ts";
import { dataOf, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let mount: CloudMount;

beforeAll(async () => {
  const root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_ttl: "10m" });
  await mount.write("role/tagged", { auth_type: "vm", bound_account_id: HOME, role_tag: "GroveTag" });
  cloud.world.addUser(HOME, "ann");
  await mount.write("role/job", { auth_type: "iam", bound_iam_principal_arn: `arn:aws:iam::${HOME}:user/ann` });
});

/** Does `work` and lists the calls to the objects of the method, in the order in which they begin. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  const meter = new Meter();
  try {
    await work();
  } finally {
    meter.stop();
  }
  // Alarms, and the report of refusals a moment before, come by themselves.
  return meter.inOrder().filter((method) => /^Cloud\w+\.(?!alarm$|addRefusals$)/.test(method));
}

/** What an isolate does that was just started. */
function forgetAll(): void {
  forgetInstallation();
  forgetCopies();
}

describe("calls to the objects of a mount", () => {
  it("a login by document asks for no configuration that its isolate knows", async () => {
    const login = () => mount.loginInstance(cloud.world.addInstance(HOME, "eu-west-1"), { role: "web" });
    forgetAll();
    const cold = ["CloudAuth.readForLogin", "CloudAuth.readForLogin", "CloudLookups.ask", "CloudAccessList.enterLogin"];
    expect(await callsOf(login)).toEqual(cold);
    expect(await callsOf(login)).toEqual(["CloudLookups.ask", "CloudAccessList.enterLogin"]);
  });

  it("its renewal asks for none either", async () => {
    const { auth } = (await mount.loginInstance(cloud.world.addInstance(HOME, "eu-west-1"), { role: "web" })).body;
    const renewal = () => mount.renew(auth.client_token);
    expect(await callsOf(renewal)).toEqual(["CloudLookups.ask", "CloudAccessList.extend"]);
    forgetAll();
    const cold = ["CloudAuth.readForLogin", "CloudLookups.ask", "CloudAccessList.extend"];
    expect(await callsOf(renewal)).toEqual(cold);
  });

  it("a login by a signed request, and its renewal, ask for none", async () => {
    const ann = cloud.world.users.find(({ name }) => name === "ann");
    if (!ann) throw new Error("no such user");
    const key = cloud.world.addKey(ann);
    const login = () => mount.loginCaller(key, { role: "job" });
    forgetAll();
    expect(await callsOf(login)).toEqual(["CloudAuth.readForLogin", "CloudAuth.readForLogin"]);
    expect(await callsOf(login)).toEqual([]);
    const { auth } = (await login()).body;
    expect(await callsOf(() => mount.renew(auth.client_token))).toEqual([]);
  });

  it("a refused login of an unknown role asks once each time", async () => {
    const login = () => mount.login({ role: "nobody", pkcs7: "MIA" });
    await login();
    // Reports the first refusal. The next report is not due before some seconds have passed.
    await mount.call("GET", "explain/refused");
    expect(await callsOf(login)).toEqual(["CloudAuth.readForLogin"]);
  });

  it("a role alone is answered without a look at the certificates, however many there are", async () => {
    await runInDurableObject(await cloudObject("cloud"), async (object, { storage }) => {
      const read = vi.spyOn(storage.sql, "exec");
      const parts = await object.readForLogin({ settings: false, roleName: "web", accountId: null });
      expect(parts).toMatchObject({ settings: null, role: { authType: "vm" } });
      const queries = read.mock.calls.map(([query]) => query);
      expect(queries.filter((query) => query.includes("roles"))).toHaveLength(1);
      expect(queries.filter((query) => query.includes("certificates"))).toEqual([]);
    });
  });

  it("a change that was made here applies at the next login, and is announced to the installation before the answer", async () => {
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const login = () => mount.loginInstance(instance, { role: "web", nonce: "n" });
    expect((await login()).body.auth.lease_duration).toBe(600);
    const writing = await callsOf(() => mount.write("role/web", { token_ttl: "20m" }));
    expect(writing).toEqual(["CloudAuth.writeRole", "CloudAuth.configurationState"]);
    expect((await login()).body.auth.lease_duration).toBe(1200);
    // Another isolate knows the new state from its copy of the installation, and keeps what it read in that state.
    forgetAll();
    await login();
    expect(await callsOf(login)).toEqual(["CloudLookups.ask", "CloudAccessList.enterLogin"]);
    await mount.call("DELETE", "role/web");
    expect((await login()).status).toBe(400);
    await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_ttl: "10m" });
  });

  it("a login with a role tag asks the deny list too", async () => {
    const instance = cloud.world.addInstance(HOME, "eu-west-1");
    const tag = await mount.write("role/tagged/tag", {});
    instance.tags = { GroveTag: dataOf<{ tag_value: string }>(tag).tag_value };
    const login = () => mount.loginInstance(instance, { role: "tagged", nonce: "n" });
    await login();
    expect(await callsOf(login)).toEqual(["CloudLookups.ask", "CloudAuth.isDenied", "CloudAccessList.enterLogin"]);
  });
});
