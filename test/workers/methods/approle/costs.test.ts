import { beforeAll, expect, it } from "vitest";
import { type AppRoleMount, mountAppRole } from "../../../support/app-role.ts";
import { Meter } from "../../../support/meter.ts";
import { cost } from "../../../support/operations.ts";
import { rowsOf } from "../../../support/rows.ts";
import { initialized, keysOf } from "../../../support/service.ts";
import { alter } from "../../../support/storage-writer.ts";

let mount: AppRoleMount;

beforeAll(async () => {
  mount = await mountAppRole(await initialized(), "approle");
});

/** What some work costs the objects of the method, and how often it calls which. */
async function costsOf(work: () => Promise<unknown>) {
  const meter = new Meter();
  try {
    await work();
    const calls = meter.inOrder().filter((method) => method.startsWith("AppRole"));
    return { calls, costs: await meter.costs() };
  } finally {
    meter.stop();
  }
}

/** Gives a role so many further secret-ids in the shard of one that it has. */
async function fill(accessor: string, count: number) {
  const shard = await mount.shardOf(accessor);
  const row = (await rowsOf(shard, "secret_ids")).find((one) => one.accessor === accessor);
  const insert = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO secret_ids (role, hash, accessor, value) SELECT ?, ? || i, ? || printf('%07d', i), '{}' FROM n`;
  await alter(shard, insert, String(row?.role), accessor, accessor.slice(0, 1));
}

it.each([10, 20_000])(
  "a login is one call and one row beside %i secret-ids of the role in the shard",
  async (count) => {
    const roleId = await mount.role(`of-${count}`);
    const { secret_id, secret_id_accessor } = await mount.secretId(`of-${count}`);
    const counted = await mount.secretId(`of-${count}`, { num_uses: 9 });
    await fill(secret_id_accessor, count);
    await fill(counted.secret_id_accessor, count);
    // The first login gives the isolate its copy of the role, and the shard its list of dropped roles.
    await mount.login(roleId, secret_id);
    await mount.login(roleId, counted.secret_id);
    const plain = await costsOf(() => mount.login(roleId, secret_id));
    expect(plain.calls).toEqual(["AppRoleSecretIds.use"]);
    expect(plain.costs["AppRoleSecretIds.use"]).toEqual(cost(1, 0));
    const used = await costsOf(() => mount.login(roleId, counted.secret_id));
    expect(used.calls).toEqual(["AppRoleSecretIds.use"]);
    expect(used.costs["AppRoleSecretIds.use"]).toEqual(cost(2, 1));
  },
);

it("a page of accessors reads its own rows, of no more shards than it takes", async () => {
  await mount.role("paged");
  const { secret_id_accessor } = await mount.secretId("paged");
  await fill(secret_id_accessor, 20_000);
  const after = secret_id_accessor.slice(0, 1);
  const { calls, costs } = await costsOf(async () => {
    const page = await mount.ask("LIST", `role/paged/secret-id?limit=100&after=${after}`);
    expect(keysOf(page)).toHaveLength(100);
  });
  expect(calls).toEqual(["AppRoleAuth.readRole", "AppRoleSecretIds.list"]);
  expect(costs["AppRoleSecretIds.list"]?.rowsRead).toBeLessThanOrEqual(102);
});
