import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { AppRoleAuth } from "../../../../src/methods/approle/app-role-auth.ts";
import { AppRoleSecretIds } from "../../../../src/methods/approle/app-role-secret-ids.ts";
import { type AppRoleMount, mountAppRole } from "../../../support/app-role.ts";
import { atCalls, atNth, holdAlarmsOf } from "../../../support/calls.ts";
import type { LoginExplanation } from "../../../support/explanation.ts";
import { crash } from "../../../support/objects.ts";
import { rowsOf } from "../../../support/rows.ts";
import { call, callApart, dataOf, initialized } from "../../../support/service.ts";

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "approle");
});

afterEach(() => {
  vi.useRealTimers();
});

const WRONG = { errors: ["invalid role or secret ID"] };
const HERE = "192.0.2.9";
const ELSEWHERE = "198.51.100.9";

const lookUp = async (role: string, accessor: string) =>
  mount.ask("POST", `role/${role}/secret-id-accessor/lookup`, { secret_id_accessor: accessor });
/** True while the row of a secret-id is stored, whether it is good or not. */
const isStored = async (accessor: string) => {
  const rows = await rowsOf(await mount.shardOf(accessor), "secret_ids");
  return rows.some((row) => row.accessor === accessor);
};
const usesLeft = async (role: string, accessor: string) =>
  dataOf<{ secret_id_num_uses: number }>(await lookUp(role, accessor)).secret_id_num_uses;

describe("a login by approle", () => {
  it("gives the token of the role, with the metadata of the secret-id", async () => {
    const roleId = await mount.role("web", { token_policies: "web", token_ttl: "10m", token_num_uses: 20 });
    const { secret_id } = await mount.secretId("web", { metadata: { env: "prod" } });
    const { auth } = (await mount.login(` ${roleId} `, ` ${secret_id}\n`)).body;
    expect(auth).toMatchObject({
      policies: ["default", "web"],
      metadata: { env: "prod", role_name: "web" },
      lease_duration: 600,
      num_uses: 20,
      token_type: "service",
    });
    const entity = (await call("GET", `identity/entity/id/${auth.entity_id}`, { token: root })).body.data;
    expect(entity.aliases).toMatchObject([{ name: roleId, metadata: { env: "prod", role_name: "web" } }]);
    const listed = (await call("GET", "identity/entity/id?list=true", { token: root })).body.data;
    expect(listed.key_info).toMatchObject({ [String(auth.entity_id)]: { display_name: "web" } });
  });

  it("says the same of an unknown role and of an unknown secret-id", async () => {
    const roleId = await mount.role("web");
    const { secret_id } = await mount.secretId("web");
    for (const answer of [
      await mount.login("absent", secret_id),
      await mount.login("x".repeat(600), secret_id),
      await mount.login(roleId, "absent"),
      await mount.login(roleId, "x".repeat(5000)),
    ]) {
      expect([answer.status, answer.body]).toEqual([400, WRONG]);
    }
    expect((await mount.login("", secret_id)).body.errors).toEqual(["missing role_id"]);
    expect((await mount.login(roleId)).body.errors).toEqual(["missing secret_id"]);
  });

  it("takes a secret-id of its own role alone, and no accessor", async () => {
    const [one, other] = [await mount.role("one"), await mount.role("other")];
    const made = await mount.secretId("one");
    expect((await mount.login(other, made.secret_id)).body).toEqual(WRONG);
    expect((await mount.login(one, made.secret_id_accessor)).body).toEqual(WRONG);
    expect((await mount.login(one, made.secret_id)).status).toBe(200);
    const elsewhere = await mountAppRole(root, "elsewhere");
    await elsewhere.role("one", { role_id: one });
    expect((await elsewhere.login(one, made.secret_id)).body).toEqual(WRONG);
  });

  it("needs no secret-id if the role says so, only from the role's networks, also right after that has changed", async () => {
    const roleId = await mount.role("open", { bind_secret_id: false, secret_id_bound_cidrs: "192.0.2.0/24" });
    expect((await mount.login(roleId, undefined, HERE)).status).toBe(200);
    expect((await mount.login(roleId, undefined, ELSEWHERE)).status).toBe(400);
    expect((await mount.login(roleId)).status).toBe(400);
    await mount.ask("POST", "role/open", { bind_secret_id: true });
    expect((await mount.login(roleId, undefined, HERE)).body.errors).toEqual(["missing secret_id"]);
    const tokens = await mount.role("open-tokens", { bind_secret_id: false, token_bound_cidrs: "192.0.2.0/24" });
    expect((await mount.login(tokens, undefined, HERE)).status).toBe(200);
    expect((await mount.login(tokens, undefined, ELSEWHERE)).status).toBe(403);
  });

  it("comes from a network of the role and of the secret-id; another costs no use", async () => {
    const roleId = await mount.role("near", { secret_id_bound_cidrs: "192.0.2.0/24", secret_id_num_uses: 2 });
    const { secret_id, secret_id_accessor } = await mount.secretId("near", { cidr_list: "192.0.2.8/29" });
    for (const address of [ELSEWHERE, "192.0.2.100", undefined]) {
      expect((await mount.login(roleId, secret_id, address)).status).toBe(400);
    }
    expect(await usesLeft("near", secret_id_accessor)).toBe(2);
    expect((await mount.login(roleId, secret_id, HERE)).status).toBe(200);
    expect(await usesLeft("near", secret_id_accessor)).toBe(1);
  });

  it("of a disabled entity costs a use, its explanation none, and is told from others by its secret-id alone", async () => {
    const roleId = await mount.role("off", { secret_id_num_uses: 5 });
    const { secret_id, secret_id_accessor } = await mount.secretId("off");
    const { entity_id } = (await mount.login(roleId, secret_id)).body.auth;
    await call("POST", `identity/entity/id/${entity_id}`, { token: root, body: { disabled: true } });
    expect((await mount.login(roleId, secret_id)).status).toBe(403);
    expect(await usesLeft("off", secret_id_accessor)).toBe(3);
    const explained = await mount.ask("POST", "explain/login", { role_id: roleId, secret_id });
    expect(explained.body.data.allowed).toBe(false);
    expect(await usesLeft("off", secret_id_accessor)).toBe(3);
    expect((await mount.login(roleId, "wrong")).body).toEqual(WRONG);
  });

  it("gives a token that is bound to the networks of the secret-id, else to those of the role", async () => {
    const roleId = await mount.role("bound", { token_bound_cidrs: "192.0.2.0/24", secret_id_num_uses: 5 });
    const narrow = await mount.secretId("bound", { token_bound_cidrs: "192.0.2.9/32" });
    const wide = await mount.secretId("bound");
    const use = (token: string, address: string) =>
      call("GET", "auth/token/lookup-self", { token, headers: { "CF-Connecting-IP": address } });
    const token = (await mount.login(roleId, narrow.secret_id, HERE)).body.auth.client_token;
    expect([(await use(token, HERE)).status, (await use(token, "192.0.2.10")).status]).toEqual([200, 403]);
    expect((await mount.login(roleId, narrow.secret_id, "192.0.2.10")).status).toBe(400);
    expect((await mount.login(roleId, wide.secret_id, "192.0.2.10")).status).toBe(200);
    expect((await mount.ask("POST", "role/bound/secret-id", { token_bound_cidrs: "10.0.0.0/8" })).status).toBe(400);
  });

  it("is bound by a role that was narrowed after its secret-id was made", async () => {
    const roleId = await mount.role("narrowed", { secret_id_num_uses: 5 });
    const made = await mount.secretId("narrowed", { token_bound_cidrs: "192.0.2.0/24" });
    await mount.ask("POST", "role/narrowed", { token_bound_cidrs: "192.0.2.9,10.0.0.0/8" });
    const { client_token } = (await mount.login(roleId, made.secret_id, HERE)).body.auth;
    const found = await call("POST", "auth/token/lookup", { token: root, body: { token: client_token } });
    expect(found.body.data.bound_cidrs).toEqual(["192.0.2.9"]);
    expect((await mount.login(roleId, made.secret_id, "192.0.2.10")).status).toBe(400);
    expect((await mount.login(roleId, made.secret_id, "10.0.0.1")).status).toBe(400);

    await mount.ask("POST", "role/narrowed", { token_bound_cidrs: "10.0.0.0/8" });
    const refused = await mount.login(roleId, made.secret_id, HERE);
    expect([refused.status, refused.body.errors]).toEqual([
      ...[400, ["token_bound_cidrs of the secret ID are outside of those of the role"]],
    ]);
    expect(await usesLeft("narrowed", made.secret_id_accessor)).toBe(4);
    const explained = { role_id: roleId, secret_id: made.secret_id, client_address: HERE };
    expect((await mount.ask("POST", "explain/login", explained)).body.data.allowed).toBe(false);
  });

  it("without its role is not renewed, nor with another one of the same name", async () => {
    const roleId = await mount.role("renewed", { token_ttl: "10m" });
    const { secret_id } = await mount.secretId("renewed");
    const { client_token: token } = (await mount.login(roleId, secret_id)).body.auth;
    const renew = () => call("POST", "auth/token/renew-self", { token });
    await mount.ask("POST", "role/renewed", { token_ttl: "20m" });
    expect((await renew()).body.auth.lease_duration).toBe(1200);
    await mount.ask("DELETE", "role/renewed");
    expect((await renew()).status).toBe(400);
    await mount.role("renewed");
    expect((await renew()).status).toBe(400);
  });
});

describe("a role of the approle method", () => {
  it("is named by its role-id for quotas, and by the usage of its policies", async () => {
    const [limited, other] = [await mount.role("limited", { token_policies: "used" }), await mount.role("unlimited")];
    const body = { path: "auth/approle", role: "limited", rate: 1, interval: 60 };
    await call("POST", "sys/quotas/rate-limit/approle", { token: root, body });
    const statuses: number[] = [];
    for (const roleId of [limited, limited, other]) {
      statuses.push((await mount.login(roleId, "absent", "203.0.113.9")).status);
    }
    expect(statuses).toEqual([400, 429, 400]);
    await call("DELETE", "sys/quotas/rate-limit/approle", { token: root });
    await call("POST", "sys/policies/acl/used", { token: root, body: { policy: "" } });
    const usage = await call("GET", "sys/policies/usage/acl/used", { token: root });
    expect(JSON.stringify(usage.body.data)).toContain("auth/approle/role/limited");
  });
});

describe("the uses of a secret-id", () => {
  it("are as many as it has: 200 logins at once with one of one use give one token", async () => {
    const roleId = await mount.role("raced", { secret_id_num_uses: 1 });
    const { secret_id, secret_id_accessor } = await mount.secretId("raced");
    const body = { role_id: roleId, secret_id };
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => callApart("POST", "auth/approle/login", { body })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 199 }, () => 400)]);
    expect((await lookUp("raced", secret_id_accessor)).status).toBe(404);
    expect(await isStored(secret_id_accessor)).toBe(false);
  });

  it("are counted down to the last", async () => {
    const roleId = await mount.role("counted", { secret_id_num_uses: 3 });
    const { secret_id, secret_id_accessor } = await mount.secretId("counted");
    const seen: (number | undefined)[] = [];
    for (let login = 0; login < 4; login++) {
      seen.push((await mount.login(roleId, secret_id)).status);
      seen.push(login < 2 ? await usesLeft("counted", secret_id_accessor) : undefined);
    }
    expect(seen).toEqual([200, 2, 200, 1, 200, undefined, 400, undefined]);
  });

  it("do not come back when the object ends after one was counted and before its token was given", async () => {
    const roleId = await mount.role("crashed", { secret_id_num_uses: 1 });
    const { secret_id, secret_id_accessor } = await mount.secretId("crashed");
    const shard = await mount.shardOf(secret_id_accessor);
    const cut = atCalls(AppRoleSecretIds, "use", async ({ proceed }) => {
      await proceed();
      throw new Error("the process ends here");
    });
    expect((await callApart("POST", "auth/approle/login", { body: { role_id: roleId, secret_id } })).status).toBe(500);
    cut.end();
    await crash(shard);
    const answers = await Promise.all(Array.from({ length: 20 }, () => mount.login(roleId, secret_id)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  });

  it("are not taken by a malformed request", async () => {
    const roleId = await mount.role("malformed", { secret_id_num_uses: 1 });
    const { secret_id, secret_id_accessor } = await mount.secretId("malformed");
    for (const raw of [
      JSON.stringify({ role_id: [roleId], secret_id }),
      JSON.stringify({ role_id: roleId, secret_id: { text: secret_id } }),
      JSON.stringify({ role_id: roleId, secret_id }).slice(0, -1),
    ]) {
      expect((await call("POST", "auth/approle/login", { raw })).status).toBe(400);
    }
    expect((await mount.login("absent", secret_id)).status).toBe(400);
    expect(await usesLeft("malformed", secret_id_accessor)).toBe(1);
  });
});

describe("the end of a secret-id", () => {
  it("is its time, whether tidy has run or not", async () => {
    holdAlarmsOf(AppRoleSecretIds);
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const roleId = await mount.role("ended", { secret_id_ttl: "10m" });
    const { secret_id, secret_id_accessor } = await mount.secretId("ended");
    vi.setSystemTime(start + 599_999);
    expect((await mount.login(roleId, secret_id)).status).toBe(200);
    vi.setSystemTime(start + 600_000);
    expect((await mount.login(roleId, secret_id)).body).toEqual(WRONG);
    // It is still stored: tidy has not run.
    expect(await isStored(secret_id_accessor)).toBe(true);
    expect((await lookUp("ended", secret_id_accessor)).status).toBe(404);
    expect((await mount.ask("LIST", "role/ended/secret-id")).status).toBe(404);
    const tidied = await mount.ask("POST", "tidy/secret-id");
    expect(tidied.status).toBe(202);
    expect(await isStored(secret_id_accessor)).toBe(false);
  });

  it.each([
    ["its text", "secret-id/destroy", "secret_id", "POST"],
    ["its text, as a deletion", "secret-id/destroy", "secret_id", "DELETE"],
    ["its accessor", "secret-id-accessor/destroy", "secret_id_accessor", "POST"],
    ["its accessor, as a deletion", "secret-id-accessor/destroy", "secret_id_accessor", "DELETE"],
  ] as const)("is its destruction by %s, from the answer on", async (_, path, field, method) => {
    const roleId = await mount.role("destroyed");
    const made = await mount.secretId("destroyed");
    expect((await mount.login(roleId, made.secret_id)).status).toBe(200);
    const destroyed =
      method === "POST"
        ? await mount.ask("POST", `role/destroyed/${path}`, { [field]: made[field] })
        : await mount.ask("DELETE", `role/destroyed/${path}?${field}=${made[field]}`);
    expect(destroyed.status).toBe(204);
    expect((await mount.login(roleId, made.secret_id)).body).toEqual(WRONG);
  });

  it("is the deletion of its role, also for a role that is made anew with the same ids", async () => {
    const roleId = await mount.role("deleted");
    const made = await Promise.all(Array.from({ length: 5 }, () => mount.secretId("deleted")));
    await mount.ask("DELETE", "role/deleted");
    for (const { secret_id } of made) expect((await mount.login(roleId, secret_id)).body).toEqual(WRONG);
    await mount.role("deleted", { role_id: roleId });
    for (const { secret_id } of made) expect((await mount.login(roleId, secret_id)).body).toEqual(WRONG);
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const { secret_id_accessor } of made) {
      const shard = await mount.shardOf(secret_id_accessor);
      await runInDurableObject(shard, (object) => object.alarm());
      expect(await isStored(secret_id_accessor)).toBe(false);
      // The role is known for some time more, see below.
      vi.setSystemTime(Date.now() + 7_200_000);
      await runInDurableObject(shard, (object) => object.alarm());
      expect(await rowsOf(shard, "dropped_roles")).toEqual([]);
    }
  });

  it.each([
    ["in a mount without secret-ids", "first"],
    ["in a mount with others", "second"],
  ])("is there already when it is registered after the deletion of its role, %s", async (_, path) => {
    const other = await mountAppRole(root, `late-${path}`);
    await other.role("kept");
    if (path === "second") await Promise.all(Array.from({ length: 40 }, () => other.secretId("kept")));
    const role_id = await other.role("late");
    const held = atNth(AppRoleAuth, "readRole", 1, async (proceed) => {
      const role = await proceed();
      expect((await other.ask("DELETE", "role/late")).status).toBe(204);
      for (const shard of await other.shards()) {
        await runInDurableObject(shard, (object) => object.alarm());
        await crash(shard);
      }
      return role;
    });
    const late = await other.ask("POST", "role/late/custom-secret-id", { secret_id: "chosen" });
    held.end();
    expect(late.status).toBe(404);
    const rows = await Promise.all((await other.shards()).map((shard) => rowsOf(shard, "secret_ids")));
    expect(rows.flat().length).toBe(path === "second" ? 40 : 0);
    expect((await other.login(role_id, "chosen")).body).toEqual(WRONG);
  });

  it("is there already when it is registered too late for its shard to know that its role is deleted", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await mount.role("slow");
    const held = atNth(AppRoleSecretIds, "register", 1, async (proceed) => {
      vi.setSystemTime(Date.now() + 60_001);
      return proceed();
    });
    expect((await mount.ask("POST", "role/slow/secret-id")).status).toBe(503);
    held.end();
    expect((await mount.ask("LIST", "role/slow/secret-id")).status).toBe(404);
    expect((await mount.ask("POST", "role/slow/secret-id")).status).toBe(200);
  });

  it("comes for those of a deleted role at once in the shard, whatever copy of the role an isolate has", async () => {
    await mount.role("copied");
    const made = await mount.secretId("copied");
    const shard = await mount.shardOf(made.secret_id_accessor);
    const row = (await rowsOf(shard, "secret_ids")).find(({ accessor }) => accessor === made.secret_id_accessor);
    holdAlarmsOf(AppRoleSecretIds);
    await mount.ask("DELETE", "role/copied");
    const client = { address: null, tokenCidrs: [] };
    expect(await shard.use(String(row?.role), String(row?.hash), client, Date.now())).toEqual({
      secretId: null,
      excludedBy: null,
      parent: null,
      isUnused: true,
    });
  });
});

describe("the explanation of a login by approle", () => {
  const explain = async (body: Record<string, unknown>) => {
    const answer = await call("POST", "auth/approle/explain/login", { token: root, body });
    expect(answer.status).toBe(200);
    return dataOf<LoginExplanation>(answer);
  };

  it("makes all checks, counts no use, and takes an accessor in the place of a secret-id", async () => {
    const role_id = await mount.role("explained", { secret_id_num_uses: 1, token_policies: "web" });
    const { secret_id, secret_id_accessor } = await mount.secretId("explained");
    for (const named of [{ secret_id }, { secret_id_accessor }, { secret_id }]) {
      const found = await explain({ role_id, ...named });
      expect(found).toMatchObject({ allowed: true, token: { token_policies: ["default", "web"] } });
      expect(JSON.stringify(found)).not.toContain(secret_id);
    }
    expect((await mount.login(role_id, secret_id)).status).toBe(200);
    const spent = await explain({ role_id, secret_id });
    expect([spent.allowed, spent.checks.find(({ outcome }) => outcome === "failed")?.name]).toEqual([
      false,
      "secret_id",
    ]);
  });

  it("names the network that refuses a client", async () => {
    const role_id = await mount.role("fenced", { secret_id_bound_cidrs: "192.0.2.0/24" });
    const { secret_id } = await mount.secretId("fenced", { cidr_list: "192.0.2.9/32" });
    const failed = async (client_address: string) => {
      const { checks } = await explain({ role_id, secret_id, client_address });
      return checks.filter(({ outcome }) => outcome === "failed").map(({ name }) => name);
    };
    expect(await failed(ELSEWHERE)).toEqual(["address", "secret_id_address"]);
    expect(await failed("192.0.2.10")).toEqual(["secret_id_address"]);
    expect(await failed(HERE)).toEqual([]);
  });

  it("lists what was refused lately, without anything of a credential", async () => {
    const roleId = await mount.role("refusing");
    await mount.login(roleId, "a guess at a secret");
    const answer = await mount.ask("GET", "explain/refused");
    expect(answer.body.data.refused).toContainEqual(expect.objectContaining({ role: "refusing", check: "secret_id" }));
    expect(JSON.stringify(answer.body)).not.toContain("a guess");
  });
});
