import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AppRoleSecretIds } from "../../../../src/methods/approle/app-role-secret-ids.ts";
import { TokenTree } from "../../../../src/tree/token-tree.ts";
import { type AppRoleMount, type MadeSecretId, mountAppRole } from "../../../support/app-role.ts";
import { atCalls, atNth, callsTo, failing, holdAlarmsOf, losingAnswers, ringAlarm } from "../../../support/calls.ts";
import { Meter } from "../../../support/meter.ts";
import { crash } from "../../../support/objects.ts";
import { rowsOf } from "../../../support/rows.ts";
import { call, callApart, dataOf, initialized } from "../../../support/service.ts";
import { deleteRows, insertRows } from "../../../support/storage-writer.ts";
import { growTree, holdSweeps, locate, sweep, withoutUpdates } from "../../../support/trees.ts";
import { holdWalks } from "../../../support/walks.ts";

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "approle");
});

beforeEach(() => {
  holdAlarmsOf(AppRoleSecretIds);
  holdSweeps();
});

afterEach(() => {
  vi.useRealTimers();
});

const ENDING = { token_ends_with_secret_id: true };
let count = 0;

/** A role whose tokens end with their secret-ids, and a secret-id of it. */
async function endingRole(fields: Record<string, unknown> = {}) {
  const name = `ending-${++count}`;
  const roleId = await mount.role(name, { ...ENDING, ...fields });
  const made = await mount.secretId(name);
  return { name, roleId, made, ...actionsOn(name, roleId, made) };
}

function actionsOn(name: string, roleId: string, made: MadeSecretId) {
  const login = async () => {
    const answer = await mount.login(roleId, made.secret_id);
    if (answer.status !== 200)
      throw new Error(`the login was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return String(answer.body.auth.client_token);
  };
  const destroy = async () => (await mount.ask("POST", `role/${name}/secret-id/destroy`, made)).status;
  const destroyByAccessor = async () =>
    (await mount.ask("POST", `role/${name}/secret-id-accessor/destroy`, made)).status;
  return { login, destroy, destroyByAccessor };
}

const lookUp = (token: string) => call("GET", "auth/token/lookup-self", { token });
const status = async (token: string) => (await lookUp(token)).status;
const parentsOf = async ({ secret_id_accessor }: MadeSecretId) =>
  (await rowsOf(await mount.shardOf(secret_id_accessor), "token_parents")).filter(
    ({ accessor }) => accessor === secret_id_accessor,
  );
/** The parent tokens of a shard that are to be revoked. */
const waitingIn = async (shard: Parameters<typeof rowsOf>[0]) =>
  (await rowsOf(shard, "ending_parents")).filter(({ revoked_at }) => revoked_at === null);
const shardDigit = ({ secret_id_accessor }: MadeSecretId) => secret_id_accessor.charAt(0);
/** The calls to objects that some work makes, besides what isolates keep copies of. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  const meter = new Meter();
  try {
    await withoutUpdates(work);
    return meter.inOrder().filter((method) => !/^(System|EntityShard)|\.alarm$/.test(method));
  } finally {
    meter.stop();
  }
}
/** A call in another isolate's place, which a fault may have throw. */
const loginApart = async (roleId: string, { secret_id }: MadeSecretId) =>
  (await callApart("POST", "auth/approle/login", { body: { role_id: roleId, secret_id } })).status;

describe("a token that ends with its secret-id", () => {
  it.each(["destroy", "destroyByAccessor"] as const)(
    "ends with everything below it by one call when the secret-id is destroyed (%s), and no other token does",
    async (how) => {
      const one = await endingRole({ token_policies: "parent" });
      await call("POST", "sys/policies/acl/parent", {
        token: root,
        body: { policy: 'path "auth/token/create" { capabilities = ["update"] }' },
      });
      const other = actionsOn(one.name, one.roleId, await mount.secretId(one.name));
      const [token, second, kept] = [await one.login(), await one.login(), await other.login()];
      const child = (await call("POST", "auth/token/create", { token })).body.auth.client_token;
      expect(await Promise.all([token, second, child, kept].map(status))).toEqual([200, 200, 200, 200]);
      expect(await one[how]()).toBe(204);
      expect(await Promise.all([token, second, child, kept].map(status))).toEqual([403, 403, 403, 200]);
      expect(await mount.login(one.roleId, one.made.secret_id)).toMatchObject({ status: 400 });
    },
  );

  it("ends when its role is deleted, whichever shard its secret-id is in", async () => {
    const { name, roleId } = await endingRole();
    const kept = await (await endingRole()).login();
    const tokens = await Promise.all(
      Array.from({ length: 12 }, async () => actionsOn(name, roleId, await mount.secretId(name)).login()),
    );
    expect((await mount.ask("DELETE", `role/${name}`)).status).toBe(204);
    expect(await Promise.all(tokens.map(status))).toEqual(tokens.map(() => 403));
    expect(await status(kept)).toBe(200);
  });

  it("has the end of its secret-id, also after a renewal and with a period", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const { login, made } = await endingRole({ secret_id_ttl: "10m", token_ttl: "8m" });
    const periodic = await endingRole({ secret_id_ttl: "10m", token_period: "8m" });
    const tokens = [await login(), await periodic.login()];
    vi.setSystemTime(start + 300_000);
    for (const token of tokens) {
      const { auth } = (await call("POST", "auth/token/renew-self", { token })).body;
      expect(auth.lease_duration).toBe(300);
      expect(dataOf<{ explicit_max_ttl: number }>(await lookUp(token)).explicit_max_ttl).toBe(600);
    }
    vi.setSystemTime(start + 599_999);
    expect(await Promise.all(tokens.map(status))).toEqual([200, 200]);
    vi.setSystemTime(start + 600_000);
    expect(await Promise.all(tokens.map(status))).toEqual([403, 403]);
    vi.setSystemTime(start + 7_200_000);
    await ringAlarm(await mount.shardOf(made.secret_id_accessor));
    expect(await parentsOf(made)).toEqual([]);
  });

  it("is a batch token as well", async () => {
    const { login, destroy } = await endingRole({ token_type: "batch", secret_id_ttl: "10m" });
    const token = await login();
    expect(dataOf<{ ttl: number }>(await lookUp(token)).ttl).toBeLessThanOrEqual(600);
    expect(await destroy()).toBe(204);
    expect(await status(token)).toBe(403);
  });

  it("is a batch token below a new parent, when the earlier parent was revoked", async () => {
    const { login, made, destroy } = await endingRole({ token_type: "batch", secret_id_ttl: "10m" });
    const first = await login();
    const [row] = await parentsOf(made);
    const revoked = { accessor: row?.parent };
    expect((await call("POST", "auth/token/revoke-accessor", { token: root, body: revoked })).status).toBe(204);
    expect(await status(first)).toBe(403);
    const second = await login();
    expect(await status(second)).toBe(200);
    expect(await destroy()).toBe(204);
    expect(await status(second)).toBe(403);
  });

  it("outlives the last use of its secret-id, which can be destroyed then", async () => {
    for (const how of ["destroy", "destroyByAccessor"] as const) {
      const one = await endingRole({ secret_id_num_uses: 1 });
      const token = await one.login();
      expect(await loginApart(one.roleId, one.made)).toBe(400);
      expect((await mount.ask("POST", `role/${one.name}/secret-id-accessor/lookup`, one.made)).status).toBe(404);
      expect(await status(token)).toBe(200);
      expect(await one[how]()).toBe(204);
      expect(await status(token)).toBe(403);
      expect(await one.destroyByAccessor()).toBe(404);
    }
  });

  it("ends with its own secret-id when a text is chosen a second time", async () => {
    const { name, roleId } = await endingRole();
    const chosen = async (fields: Record<string, unknown>) => {
      const answer = await mount.ask("POST", `role/${name}/custom-secret-id`, { secret_id: "chosen", ...fields });
      return actionsOn(name, roleId, dataOf<MadeSecretId>(answer));
    };
    const first = await chosen({ num_uses: 1 });
    const spent = await first.login();
    const second = await chosen({});
    const token = await second.login();
    expect(await first.destroyByAccessor()).toBe(204);
    expect([await status(spent), await status(token)]).toEqual([403, 200]);
    expect(await second.destroyByAccessor()).toBe(204);
    expect(await status(token)).toBe(403);
  });

  it("is what the role says at the login: earlier and later ones stay as they were made", async () => {
    const name = `changed-${++count}`;
    const roleId = await mount.role(name);
    const { login, destroy } = actionsOn(name, roleId, await mount.secretId(name));
    const before = await login();
    expect(dataOf<{ orphan: boolean }>(await lookUp(before)).orphan).toBe(true);
    await mount.role(name, ENDING);
    const during = await login();
    expect(dataOf<{ orphan: boolean }>(await lookUp(during)).orphan).toBe(false);
    await mount.role(name, { token_ends_with_secret_id: false });
    const after = await login();
    expect(await destroy()).toBe(204);
    expect(await Promise.all([before, during, after].map(status))).toEqual([200, 403, 200]);
  });

  it("is refused by a role that needs no secret-id", async () => {
    const fields = { ...ENDING, bind_secret_id: false, secret_id_bound_cidrs: "192.0.2.0/24" };
    const { status: answered, body } = await mount.ask("POST", "role/without", fields);
    expect([answered, body.errors]).toEqual([400, ["token_ends_with_secret_id needs bind_secret_id"]]);
    const { name } = await endingRole({ secret_id_bound_cidrs: "192.0.2.0/24" });
    expect((await mount.ask("POST", `role/${name}/bind-secret-id`, { bind_secret_id: false })).status).toBe(400);
  });

  it("is recorded with the request that ended it", async () => {
    const { login, destroy } = await endingRole();
    const token = await login();
    const { accessor } = dataOf<{ accessor: string }>(await lookUp(token));
    await destroy();
    await sweep((await locate(token)).stub);
    const { ended } = (await call("GET", `sys/tokens/${accessor}`, { token: root })).body.data;
    const request_path = expect.stringContaining("secret-id/destroy");
    expect(ended).toMatchObject({ how: "revoked with its parent", request_path, by: { display_name: "root" } });
  });
});

describe("the parent of the tokens of a secret-id", () => {
  it("is made once, by however many logins at once, and costs later logins no call", async () => {
    const { roleId, made, login } = await endingRole();
    const logins = await Promise.all(Array.from({ length: 20 }, () => loginApart(roleId, made)));
    expect(new Set(logins)).toEqual(new Set([200]));
    const below = new Set((await Promise.all([login(), login()])).map(async (token) => (await locate(token)).treeId));
    expect(new Set(await Promise.all(below)).size).toBe(1);
    const token = await login();
    expect(await callsOf(login)).toEqual(["AppRoleSecretIds.use", "TokenTree.insert"]);
    expect(await callsOf(() => lookUp(token))).toEqual(["TokenTree.run"]);
  });

  it("is revoked by one call, however many tokens there are", async () => {
    const { login, destroy } = await endingRole();
    const token = await login();
    const grown = await growTree(token, 2_000, "wide");
    // The first is that of the caller.
    const calls = ["TokenTree.run", "AppRoleAuth.readRole", "AppRoleSecretIds.destroy", "TokenTree.act"];
    expect(await callsOf(destroy)).toEqual(calls);
    expect(await Promise.all(grown.map(status))).toEqual(grown.map(() => 403));
  });

  it("is made anew after all tokens of the mount were ended", async () => {
    const { login, destroy } = await endingRole();
    const first = await login();
    expect((await call("POST", "sys/leases/revoke-prefix/auth/approle", { token: root, body: {} })).status).toBe(204);
    expect(await status(first)).toBe(403);
    const second = await login();
    expect(await status(second)).toBe(200);
    expect(await destroy()).toBe(204);
    expect(await status(second)).toBe(403);
  });

  it.each([
    ["a secret-id", 1, false],
    ["a role", 2, true],
  ])("is made anew once for %s, also when a login learns late that the last one has ended", async (_, nth, ofRole) => {
    const one = await endingRole();
    let made = one.made;
    while (ofRole && (made === one.made || shardDigit(made) !== shardDigit(one.made)))
      made = await mount.secretId(one.name);
    await one.login();
    expect((await call("POST", "sys/leases/revoke-prefix/auth/approle", { token: root, body: {} })).status).toBe(204);
    const asks = callsTo(AppRoleSecretIds, "parentOf");
    let second: Promise<string> | undefined;
    let statuses = 0;
    const late = atCalls(TokenTree, "rowStatus", async ({ proceed }) => {
      const isLate = ++statuses === nth;
      const status = await proceed();
      if (!isLate) return status;
      second = actionsOn(one.name, one.roleId, made).login();
      while (asks.calls.length < 2) await lookUp(root);
      for (let calls = 0; calls < 3; calls++) await lookUp(root);
      // The second login waits for the first one, or has asked for itself.
      if (statuses > nth) await second;
      return status;
    });
    const tokens = [await one.login(), String(await second)];
    late.end();
    expect(await Promise.all(tokens.map(status))).toEqual([200, 200]);
    const ended = ofRole ? (await mount.ask("DELETE", `role/${one.name}`)).status : await one.destroy();
    expect(ended).toBe(204);
    expect(await Promise.all(tokens.map(status))).toEqual([403, 403]);
  });

  it("of batch tokens stays for the longest of any login, also when the last one was given less", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const one = await endingRole({
      token_type: "batch",
      secret_id_num_uses: 2,
      token_ttl: "10h",
      token_max_ttl: "10h",
    });
    const first = await one.login();
    await mount.role(one.name, { token_ttl: "1h", token_max_ttl: "1h" });
    await one.login();
    const ring = async () => {
      for (let times = 0; times < 2; times++) await ringAlarm(await mount.shardOf(one.made.secret_id_accessor));
    };
    vi.setSystemTime(start + 7_210_000);
    await ring();
    expect([await status(first), (await parentsOf(one.made)).length]).toEqual([200, 1]);
    vi.setSystemTime(start + 39_610_000);
    await ring();
    expect([await status(first), await parentsOf(one.made)]).toEqual([403, []]);
  });

  it("goes when the uses are spent and no token is left", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const { login, made } = await endingRole({ secret_id_num_uses: 1, token_period: "1h", token_max_ttl: "1h" });
    const token = await login();
    const shard = await mount.shardOf(made.secret_id_accessor);
    const { stub } = await locate(token);
    vi.setSystemTime(start + 3_000_000);
    expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
    vi.setSystemTime(start + 6_500_000);
    await ringAlarm(shard);
    // The token is periodic and was renewed.
    expect([(await parentsOf(made)).length, await status(token)]).toEqual([1, 200]);
    vi.setSystemTime(start + 6_600_000 + 90_000_000);
    await sweep(stub);
    await ringAlarm(shard);
    await ringAlarm(shard);
    expect([await parentsOf(made), await waitingIn(shard)]).toEqual([[], []]);
    // A backup that began before may need it for a day, also when tidy removes others meanwhile.
    const now = Date.now();
    const expiring = { accessor: "other", createdAt: now, updatedAt: now, expiresAt: now + 1000, ttl: 1, usesLeft: 0 };
    await shard.register("other", "", { ...expiring, metadata: {}, cidrs: [], tokenCidrs: [] }, now);
    vi.setSystemTime(now + 7_200_000);
    await ringAlarm(shard);
    // The shard has secret-ids of other tests too.
    const accessorsIn = async (table: string) => (await rowsOf(shard, table)).map(({ accessor }) => accessor);
    expect(await accessorsIn("secret_ids")).not.toContain("other");
    expect(await accessorsIn("ending_parents")).toContain(made.secret_id_accessor);
    vi.setSystemTime(start + 6_600_000 + 190_000_000);
    await ringAlarm(shard);
    expect(await accessorsIn("ending_parents")).not.toContain(made.secret_id_accessor);
  });
});

describe("a crash leaves no token that outlives its secret-id", () => {
  it.each([
    ["before the token of the role is made", () => failing(TokenTree, "create", "the process ends here", 1)],
    ["after the token of the role was made", () => losingAnswers(TokenTree, "create", undefined, 1)],
    ["before the parent is made", () => failing(TokenTree, "insert", "the process ends here", 1)],
    ["after the parent was made", () => losingAnswers(TokenTree, "insert", undefined, 1)],
    ["after the parent was stored", () => losingAnswers(AppRoleSecretIds, "parentOf", undefined, 1)],
    ["before the token is made", () => atNth(TokenTree, "insert", 2, () => Promise.reject(new Error("it ends")))],
    ["after a use was counted", () => losingAnswers(AppRoleSecretIds, "use", undefined, 1)],
  ])("at a login, %s", async (_, fault) => {
    const { roleId, made, login, destroy } = await endingRole();
    const ended = fault();
    expect(await loginApart(roleId, made)).toBe(500);
    ended.end();
    await crash(await mount.shardOf(made.secret_id_accessor));
    const token = await login();
    expect(await status(token)).toBe(200);
    expect(await destroy()).toBe(204);
    expect(await status(token)).toBe(403);
    const { stub } = await locate(token);
    await sweep(stub);
    // What is left in the tree are parents without children.
    const paths = (await rowsOf(stub, "tokens")).map(({ record }) => JSON.parse(String(record)).path);
    expect(paths).not.toContain("auth/approle/login");
  });

  it("at a destruction, which is answered 503 until they are ended; the alarm ends them too", async () => {
    const { login, destroy, destroyByAccessor, made, roleId } = await endingRole();
    const token = await login();
    const shard = await mount.shardOf(made.secret_id_accessor);
    const fault = failing(TokenTree, "act", "the process ends here");
    expect(await destroy()).toBe(503);
    expect(await destroyByAccessor()).toBe(503);
    expect(await loginApart(roleId, made)).toBe(400);
    expect(await status(token)).toBe(200);
    fault.end();
    await crash(shard);
    await ringAlarm(await mount.shardOf(made.secret_id_accessor));
    expect(await status(token)).toBe(403);
    expect(await destroy()).toBe(204);
  });

  it("at a destruction that is asked for again, by its text or its accessor", async () => {
    for (const how of ["destroy", "destroyByAccessor"] as const) {
      const one = await endingRole();
      const token = await one.login();
      const fault = failing(TokenTree, "act", "the process ends here", 1);
      expect(await one[how]()).toBe(503);
      fault.end();
      expect(await one[how]()).toBe(204);
      expect(await status(token)).toBe(403);
    }
  });

  it("at the deletion of a role, which is answered 503 until they are ended", async () => {
    const { name, login } = await endingRole();
    const token = await login();
    const fault = failing(TokenTree, "act", "the process ends here");
    expect((await mount.ask("DELETE", `role/${name}`)).status).toBe(503);
    fault.end();
    expect((await mount.ask("DELETE", `role/${name}`)).status).toBe(204);
    expect(await status(token)).toBe(403);
  });
});

it("a token names who deleted its role, also when that is completed with the deletion of another one", async () => {
  const [one, other] = [await endingRole(), await endingRole()];
  const token = await one.login();
  const { accessor } = dataOf<{ accessor: string }>(await lookUp(token));
  const fault = failing(AppRoleSecretIds, "dropRole");
  expect((await mount.ask("DELETE", `role/${one.name}`)).status).toBe(503);
  fault.end();
  expect((await mount.ask("DELETE", `role/${other.name}`)).status).toBe(204);
  // No role has this name any more: what is left is done.
  expect((await mount.ask("DELETE", `role/${other.name}`)).status).toBe(204);
  expect(await status(token)).toBe(403);
  await sweep((await locate(token)).stub);
  const { ended } = (await call("GET", `sys/tokens/${accessor}`, { token: root })).body.data;
  expect(ended).toMatchObject({ request_path: `auth/approle/role/${one.name}` });
});

describe("a tree that does not answer", () => {
  const silent = async (token: string) => {
    const { id } = (await locate(token)).stub;
    return atCalls(TokenTree, "act", ({ id: called, proceed }) => {
      if (called === id.toString()) throw new Error("the tree does not answer");
      return proceed();
    });
  };

  it("does not hold up the tokens of another deleted role", async () => {
    const [one, other] = [await endingRole(), await endingRole()];
    const [held, token] = [await one.login(), await other.login()];
    const fault = await silent(held);
    expect((await mount.ask("DELETE", `role/${one.name}`)).status).toBe(503);
    expect((await mount.ask("DELETE", `role/${other.name}`)).status).toBe(204);
    expect(await Promise.all([held, token].map(status))).toEqual([200, 403]);
    fault.end();
    expect((await mount.ask("DELETE", `role/${one.name}`)).status).toBe(204);
    expect(await status(held)).toBe(403);
  });
});

it("the tokens of a destroyed secret-id are ended before those of others that wait for that", async () => {
  const { login, destroy, made } = await endingRole();
  const token = await login();
  const waiting = { role: "another", accessor: "", hash: "", asked: "{}" };
  const others = Array.from({ length: 150 }, (_, at) => ({ ...waiting, parent: ` ${at}` }));
  const shard = await mount.shardOf(made.secret_id_accessor);
  await insertRows(shard, "ending_parents", others);
  expect(await destroy()).toBe(204);
  expect(await status(token)).toBe(403);
  await deleteRows(shard, "ending_parents");
});

describe("a secret-id that is destroyed while a login is under way", () => {
  it.each([
    ["the token of its role", "create", 1],
    ["its parent", "insert", 1],
    ["the token", "insert", 2],
  ] as const)("gives no token when %s is being made", async (_, method, nth) => {
    const { roleId, made, destroy } = await endingRole();
    const statuses: number[] = [];
    const late = atNth(TokenTree, method, nth, async (proceed) => {
      statuses.push(await destroy());
      return proceed();
    });
    statuses.push(await loginApart(roleId, made));
    late.end();
    expect(statuses).toEqual([204, 400]);
    const shard = await mount.shardOf(made.secret_id_accessor);
    expect(await parentsOf(made)).toEqual([]);
    expect(await waitingIn(shard)).toEqual([]);
  });

  it("gives no token when the role is deleted meanwhile", async () => {
    const { roleId, made, name } = await endingRole();
    const late = atNth(TokenTree, "insert", 2, async (proceed) => {
      await mount.ask("DELETE", `role/${name}`);
      return proceed();
    });
    expect(await loginApart(roleId, made)).toBe(400);
    late.end();
  });
});

it("a login under way while its mount is disabled makes no parent of its token, which nothing would end", async () => {
  holdWalks();
  const other = await mountAppRole(root, "disabled");
  const roleId = await other.role("ending", ENDING);
  const { secret_id: secretId } = await other.secretId("ending");
  const late = atNth(AppRoleSecretIds, "parentOf", 1, async (proceed) => {
    expect((await call("DELETE", "sys/auth/disabled", { token: root })).status).toBe(204);
    return proceed();
  });
  const made = callsTo(TokenTree, "create");
  const { status: answered } = await other.login(roleId, secretId);
  late.end();
  expect([answered, made.calls.length]).toEqual([400, 0]);
});
