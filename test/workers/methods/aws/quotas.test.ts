import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Instance, type Key, userArn } from "../../../support/fake-cloud/world.ts";
import { type Answer, call, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let root: string;
let mount: CloudMount;
let instance: Instance;
let key: Key;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "derived", cloud, new DocumentSigner());
  instance = cloud.world.addInstance(HOME, "eu-west-1");
  await mount.write(`role/${instance.imageId}`, { auth_type: "vm", bound_image_id: instance.imageId });
  const alice = cloud.world.addUser(HOME, "Alice");
  key = cloud.world.addKey(alice);
  for (const name of ["alice", "people"])
    await mount.write(`role/${name}`, { bound_iam_principal_arn: userArn(alice) });
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const name of ["role", "mount"]) await call("DELETE", `sys/quotas/rate-limit/${name}`, { token: root });
});

const from = { "CF-Connecting-IP": "192.0.2.44" };
const quota = (name: string, fields: Record<string, unknown>) =>
  call("POST", `sys/quotas/rate-limit/${name}`, {
    token: root,
    body: { path: "auth/derived", interval: 600, ...fields },
  });
const statuses = async (logins: readonly (() => Promise<Answer>)[]) => {
  const got: number[] = [];
  for (const logIn of logins) got.push((await logIn()).status);
  return got;
};

describe("the quota of a role that only the proof of a login names", () => {
  it("is that of the principal's name", async () => {
    await quota("role", { role: "ALICE", rate: 2 });
    const unnamed = () => mount.loginCaller(key, {}, from);
    const named = (role: string) => () => mount.loginCaller(key, { role }, from);
    expect(await statuses([unnamed, named("alice"), unnamed, named("alice")])).toEqual([200, 200, 429, 429]);
    expect(await statuses([named("people")])).toEqual([200]);
    const refused = await unnamed();
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
  });

  it("does not count at a path that is exempt", async () => {
    await quota("role", { role: "alice", rate: 1 });
    const configure = (body: object) => call("POST", "sys/quotas/config", { token: root, body });
    await configure({ rate_limit_exempt_paths: ["auth/derived/login"] });
    const unnamed = () => mount.loginCaller(key, {}, from);
    expect(await statuses([unnamed, unnamed])).toEqual([200, 200]);
    await configure({});
    expect(await statuses([unnamed, unnamed])).toEqual([200, 429]);
  });

  it("is that of the image in the document", async () => {
    await quota("role", { role: instance.imageId, rate: 1 });
    const body = { nonce: "0f0f0f0f-aaaa-bbbb-cccc-0f0f0f0f0f0f" };
    const unnamed = () => mount.loginInstance(instance, body, undefined, from);
    expect(await statuses([unnamed, unnamed])).toEqual([200, 429]);
  });

  it("holds beside that of the mount, which counts a login before its proof is read", async () => {
    await quota("role", { role: "alice", rate: 5 });
    await quota("mount", { rate: 2 });
    const garbage = () => mount.login({ iam_http_request_method: "POST" }, from);
    const unnamed = () => mount.loginCaller(key, {}, from);
    expect(await statuses([garbage, unnamed, unnamed, garbage])).toEqual([400, 200, 429, 429]);
  });

  it("holds for explanations, and leaves a second line of each login that it refuses", async () => {
    await quota("role", { role: "alice", rate: 1 });
    const explain = () =>
      call("POST", "auth/derived/explain/login", {
        token: root,
        body: { arn: userArn(cloud.world.addUser(HOME, "alice")) },
        headers: from,
      });
    expect(await statuses([explain, explain])).toEqual([200, 429]);
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    expect(await statuses([() => mount.loginCaller(key, {}, from), () => mount.loginCaller(key, {}, from)])).toEqual([
      429, 429,
    ]);
    const lines = log.mock.calls
      .map(([line]) => JSON.parse(String(line)))
      .filter(({ path }) => path === "auth/derived/login");
    expect(lines.map(({ type, status }) => [type, status])).toEqual([
      ["request", undefined],
      ["response", 429],
      ["request", undefined],
      ["response", 429],
    ]);
  });
});
