import { beforeAll, beforeEach, expect, it } from "vitest";
import { AppRoleAuth } from "../../../src/methods/approle/app-role-auth.ts";
import { AppRoleSecretIds } from "../../../src/methods/approle/app-role-secret-ids.ts";
import { type AppRoleMount, type MadeSecretId, mountAppRole } from "../../support/app-role.ts";
import { backUp, loseEverything, restore } from "../../support/backups.ts";
import { atNth, holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { rowsOf } from "../../support/rows.ts";
import { call, initialized } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

/*
 * A backup reads one object after the other: trees, roles, secret-ids. What is ended between two of these readings must not be
 * out of reach after a restore.
 */

beforeEach(() => {
  holdAlarmsOf(AppRoleSecretIds, AppRoleAuth);
  holdSweeps();
});

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "machines");
});

/**
 * A role whose tokens end with their secret-ids, a secret-id of it, and what can be done with it. Its shard is not `apartFrom`:
 * a destruction ends all that waits in its shard.
 */
async function endingRole(name: string, apartFrom = "") {
  const roleId = await mount.role(name, { token_ends_with_secret_id: true });
  const shardOf = ({ secret_id_accessor }: MadeSecretId) => secret_id_accessor.charAt(0);
  let made: MadeSecretId = await mount.secretId(name);
  while (shardOf(made) === apartFrom) made = await mount.secretId(name);
  const shard = () => mount.shardOf(made.secret_id_accessor);
  return {
    shard: shardOf(made),
    login: async () => String((await mount.login(roleId, made.secret_id)).body.auth?.client_token),
    destroy: async () => (await mount.ask("POST", `role/${name}/secret-id/destroy`, made)).status,
    destroyByAccessor: async () => (await mount.ask("POST", `role/${name}/secret-id-accessor/destroy`, made)).status,
    deleteRole: async () => (await mount.ask("DELETE", `role/${name}`)).status,
    ring: async () => ringAlarm(await shard()),
    parent: async () => {
      const rows = await rowsOf(await shard(), "token_parents");
      return rows.find(({ accessor }) => accessor === made.secret_id_accessor)?.parent;
    },
  };
}

const status = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

it("what was destroyed or replaced after the trees were read has no token after the restore", async () => {
  const [destroyed, byText] = [await endingRole("one"), await endingRole("two")];
  const byAccessor = await endingRole("three", byText.shard);
  const [kept, replaced, late] = [await endingRole("kept"), await endingRole("replaced"), await endingRole("late")];
  const again = [byText.destroy, byAccessor.destroyByAccessor];
  const ended = await Promise.all([destroyed, byText, byAccessor, replaced].map(({ login }) => login()));
  const good = await kept.login();
  let unknown = "";
  const backup = await backUp(root, async () => {
    for (const destroy of [destroyed.destroy, ...again]) expect(await destroy()).toBe(204);
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: await replaced.parent() } });
    expect(await Promise.all(ended.map(status))).toEqual([403, 403, 403, 403]);
    unknown = await late.login();
    expect([await status(await replaced.login()), await status(unknown)]).toEqual([200, 200]);
  });
  await loseEverything();
  await restore(backup);

  // Destroying a secret-id once more ends its tokens, before the alarm does.
  expect(await Promise.all(ended.map(status))).toEqual([200, 200, 200, 200]);
  for (const destroy of again) expect(await destroy()).toBe(204);
  expect(await Promise.all(ended.slice(1, 3).map(status))).toEqual([403, 403]);
  // The trees have none of the parents that were made late.
  const later = [await replaced.login(), await late.login()];
  for (const { ring } of [destroyed, byText, byAccessor, kept, replaced, late]) await ring();
  expect(await Promise.all(ended.map(status))).toEqual([403, 403, 403, 403]);
  expect(await Promise.all([good, unknown, ...later].map(status))).toEqual([200, 403, 200, 200]);
  for (const { destroy } of [kept, replaced, late]) expect(await destroy()).toBe(204);
  expect(await Promise.all([good, ...later].map(status))).toEqual([403, 403, 403]);
});

it.each([
  ["its-secret-ids", AppRoleSecretIds],
  ["the-roles", AppRoleAuth],
])(
  "a role that is deleted just before %s are read is there to be deleted again, or its tokens end",
  async (name, type) => {
    const one = await endingRole(name);
    const token = await one.login();
    const before = atNth(type, "exportPage", 1, async (proceed) => {
      expect(await one.deleteRole()).toBe(204);
      return proceed();
    });
    const backup = await backUp(root);
    before.end();
    expect(await status(token)).toBe(403);
    await loseEverything();
    await restore(backup);
    await one.ring();
    expect(await one.deleteRole()).toBe(204);
    expect(await status(token)).toBe(403);
  },
);
