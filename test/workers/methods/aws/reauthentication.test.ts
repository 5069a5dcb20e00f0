import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../../src/app/deployments.ts";
import { CloudAccessList } from "../../../../src/methods/aws/mount/access-list.ts";
import { TokenTree } from "../../../../src/tree/token-tree.ts";
import { atNth, failing } from "../../../support/calls.ts";
import { DocumentSigner } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf } from "../../../support/cloud-mount.ts";
import { runAs } from "../../../support/deployments.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import type { Instance } from "../../../support/fake-cloud/world.ts";
import { call, initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
let root: string;
let mount: CloudMount;
let instance: Instance;

const EARLY = "2026-11-01T10:00:00Z";
const LATE = "2026-11-02T10:00:00Z";

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  const common = { auth_type: "vm", bound_account_id: HOME };
  await mount.write("role/web", common);
  await mount.write("role/moving", { ...common, allow_instance_migration: true });
  await mount.write("role/once", { ...common, disallow_reauthentication: true });
  await mount.write("role/rooted", { ...common, token_policies: "root" });
});

beforeEach(() => {
  instance = cloud.world.addInstance(HOME, "eu-west-1");
});

afterEach(() => {
  vi.restoreAllMocks();
});

const entry = async () => (await mount.call("GET", `identity-accesslist/${instance.id}`)).body?.data;
const login = (fields: Record<string, unknown>, pendingTime = EARLY, role = "web") =>
  mount.loginInstance(instance, { role, ...fields }, pendingTime);

describe("a nonce", () => {
  it("that the client chose counts for the next login, is not returned and not stored", async () => {
    const first = await login({ nonce: "chosen" });
    expect(first.body.auth.metadata).not.toHaveProperty("nonce");
    expect(await entry()).toMatchObject({
      role: "web",
      client_nonce: "",
      disallow_reauthentication: false,
      pending_time: EARLY,
    });
    expect((await login({ nonce: "chosen" })).status).toBe(200);
    for (const fields of [{ nonce: "other" }, {}, { nonce: "" }]) {
      expect(refusalOf(await login(fields))).toEqual([400, "client nonce mismatch"]);
    }
    expect((await login({ nonce: "chosen" })).status).toBe(200);
  });

  it("that the server made counts too", async () => {
    const { nonce } = (await login({})).body.auth.metadata;
    expect((await login({ nonce })).status).toBe(200);
    expect(refusalOf(await login({}))).toEqual([400, "client nonce mismatch"]);
  });

  it("that is empty ends reauthentication, until the entry is deleted", async () => {
    const first = await login({ nonce: "" });
    expect(first.body.auth.metadata).not.toHaveProperty("nonce");
    expect(await entry()).toMatchObject({ disallow_reauthentication: true });
    expect(refusalOf(await login({ nonce: "x" }))).toEqual([400, "reauthentication is disabled"]);
    await mount.call("DELETE", `identity-accesslist/${instance.id}`);
    expect((await login({ nonce: "x" })).status).toBe(200);
  });

  it("that is null is absent: one is made", async () => {
    const { nonce } = (await login({ nonce: null })).body.auth.metadata;
    expect(nonce).toMatch(/^[0-9a-f-]{36}$/);
    expect((await login({ nonce })).status).toBe(200);
  });

  it("may have 128 bytes", async () => {
    expect((await login({ nonce: "n".repeat(128) })).status).toBe(200);
    expect(refusalOf(await login({ nonce: "ü".repeat(65) }))).toEqual([
      400,
      "client nonce exceeding the limit of 128 characters",
    ]);
  });
});

describe("a document", () => {
  it("older than the one of the last login is refused, an equal one is not", async () => {
    await login({ nonce: "n" }, LATE);
    expect((await login({ nonce: "n" }, LATE)).status).toBe(200);
    expect(refusalOf(await login({ nonce: "n" }, EARLY))).toEqual([
      400,
      "instance meta-data is older than the one used for previous login",
    ]);
  });

  it("without a valid pendingTime is refused at the first login already", async () => {
    expect(refusalOf(await login({}, "yesterday"))).toEqual([
      400,
      "instance identity document has no valid pendingTime",
    ]);
  });
});

describe("migration", () => {
  it("takes another nonce with a newer document, and remembers that one", async () => {
    await login({ nonce: "old" }, EARLY, "moving");
    expect(refusalOf(await login({ nonce: "new" }, EARLY, "moving"))).toEqual([
      400,
      "client nonce mismatch and instance meta-data incorrect",
    ]);
    expect((await login({ nonce: "new" }, LATE, "moving")).status).toBe(200);
    expect((await login({ nonce: "new" }, LATE, "moving")).status).toBe(200);
    expect((await login({ nonce: "old" }, LATE, "moving")).status).toBe(400);
  });

  it("gives a nonce to a client that sends none, and that nonce works", async () => {
    await login({ nonce: "old" }, EARLY, "moving");
    const { nonce } = (await login({}, LATE, "moving")).body.auth.metadata;
    expect((await login({ nonce }, LATE, "moving")).status).toBe(200);
  });

  it("is disabled in a role by default", async () => {
    await login({ nonce: "old" }, EARLY);
    expect(refusalOf(await login({ nonce: "new" }, LATE))).toEqual([400, "client nonce mismatch"]);
  });
});

describe("disallow_reauthentication", () => {
  it("allows one login until the entry is deleted, also for a role that was given it later", async () => {
    const first = await login({ nonce: "n" }, EARLY, "once");
    expect(first.status).toBe(200);
    expect(refusalOf(await login({ nonce: "n" }, EARLY, "once"))).toEqual([400, "reauthentication is disabled"]);
    // The entry says it, not the role.
    expect(refusalOf(await login({ nonce: "n" }))).toEqual([400, "reauthentication is disabled"]);
    await mount.call("DELETE", `identity-accesslist/${instance.id}`);
    expect((await login({}, EARLY, "once")).body.auth.metadata).not.toHaveProperty("nonce");
  });
});

describe("concurrent first logins", () => {
  it("let one of many in", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => login({ nonce: `n${at}` })));
    const winners = answers.filter((answer) => answer.status === 200);
    expect(winners).toHaveLength(1);
    const losers = answers.filter((answer) => answer.status !== 200).map(refusalOf);
    expect(losers).toEqual(losers.map(() => [400, "client nonce mismatch"]));
  });
});

describe("the memory of a login", () => {
  it("outlives every token that comes of it", async () => {
    await mount.write("role/long", { auth_type: "vm", bound_account_id: HOME, token_max_ttl: "2000h" });
    await login({ nonce: "n" }, EARLY, "long");
    expect(Date.parse(String((await entry())?.expiration_time))).toBeGreaterThan(Date.now() + 1999 * 3_600_000);
  });

  it("is taken back when no token comes of it", async () => {
    expect(refusalOf(await login({}, EARLY, "rooted"))).toEqual([400, "auth methods cannot create root tokens"]);
    expect((await mount.call("GET", `identity-accesslist/${instance.id}`)).status).toBe(404);
    await login({ nonce: "n" });
    const before = await entry();
    expect((await login({ nonce: "n" }, LATE, "rooted")).status).toBe(400);
    expect(await entry()).toEqual(before);
  });

  it("is taken back when the token can't be stored", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const away = failing(TokenTree, "create", "away");
    expect((await login({ nonce: "lost" })).status).toBeGreaterThanOrEqual(500);
    away.end();
    expect((await mount.call("GET", `identity-accesslist/${instance.id}`)).status).toBe(404);
  });

  describe("in a cluster, when the call of a login is lost", () => {
    const LOST = new Error("Network connection lost.");

    beforeEach(() => {
      runAs(CLUSTER);
      vi.spyOn(console, "error").mockImplementation(() => {});
    });
    afterEach(() => runAs(NETWORK));

    const loseNext = (when: string, meanwhile: () => unknown = () => {}) =>
      atNth(CloudAccessList, "enterLogin", 1, async (proceed) => {
        if (when === "after") await proceed();
        await meanwhile();
        throw LOST;
      });

    it.each(["before", "after"])("%s it was entered: the client gets the nonce for its next login", async (when) => {
      loseNext(when);
      const { nonce } = (await login({})).body.auth.metadata;
      loseNext(when);
      expect((await login({ nonce })).status).toBe(200);
      loseNext(when);
      expect((await login({ nonce }, EARLY, "once")).status).toBe(200);
      expect(await entry()).toMatchObject({ disallow_reauthentication: true });
    });

    it("is taken back when no token comes of it", async () => {
      loseNext("after");
      expect((await login({}, EARLY, "rooted")).status).toBe(400);
      expect((await mount.call("GET", `identity-accesslist/${instance.id}`)).status).toBe(404);
      await login({ nonce: "n" });
      const before = await entry();
      loseNext("after");
      expect((await login({ nonce: "n" }, EARLY, "rooted")).status).toBe(400);
      expect((await entry())?.creation_time).toBe(before?.creation_time);
      expect((await login({ nonce: "other" })).status).toBe(400);
    });

    it("the token of the login is renewed", async () => {
      const token: string = (await login({ nonce: "n" })).body.auth.client_token;
      const lost = atNth(CloudAccessList, "extend", 1, async (proceed) => {
        await proceed();
        throw LOST;
      });
      expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
      expect(lost.calls).toHaveLength(2);
    });

    it("is a 503 when another login was entered since", async () => {
      loseNext("after", async () => {
        await mount.call("DELETE", `identity-accesslist/${instance.id}`);
        await login({ nonce: "other" });
      });
      expect((await login({ nonce: "first" })).status).toBe(503);
      expect((await login({ nonce: "other" })).status).toBe(200);
    });
  });

  it("is not written by a login that the cloud does not confirm", async () => {
    const stopped = cloud.world.addInstance(HOME, "eu-west-1", { state: "stopped" });
    await mount.loginInstance(stopped, { role: "web" });
    expect((await mount.call("GET", `identity-accesslist/${stopped.id}`)).status).toBe(404);
  });

  it("belongs to the mount alone", async () => {
    await login({ nonce: "n" });
    const second = await mountCloud(root, "second", cloud, new DocumentSigner());
    expect((await call("GET", `auth/second/identity-accesslist/${instance.id}`, { token: root })).status).toBe(404);
    expect(second.path).toBe("second");
  });
});
