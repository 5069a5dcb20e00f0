import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { SAFETY_AGE_MS } from "../../../src/listing/inventory/entry.ts";
import { revocationsOf, TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { LIST_PAGE } from "../../../src/tidy/check-lists.ts";
import { decodeStoredId } from "../../../src/token/ids.ts";
import { holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { tamperingLines, writeStorage } from "../../support/storage-writer.ts";
import { holdTidy, listsKnowAll, tidyNow } from "../../support/tidy.ts";
import { holdSweeps, locate, sweep } from "../../support/trees.ts";

// The lists of tokens have no seals: they decide about nothing, and tidy puts them right from the trees.

const HOUR = 3_600_000;

let root: string;

beforeAll(async () => {
  root = await initialized();
  const policy = 'path "auth/token/create" { capabilities = ["update"] }';
  await call("POST", "sys/policies/acl/maker", { token: root, body: { policy } });
});
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  holdSweeps();
  holdTidy();
  holdAlarmsOf(TokenRevocations);
});
afterEach(() => {
  vi.useRealTimers();
});

const isAlive = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status === 200;
const listOf = ({ accessor }: { readonly accessor: string }) => accessorShard(bindings, accessorShardNumber(accessor));
/** The row of a token in the list, in SQL. */
const rowOf = ({ accessor }: { readonly accessor: string }) => `accessor = '${accessor}'`;

async function made(display_name: string, creator = root) {
  const token = await createToken(creator, { display_name, ttl: "2h", no_parent: creator === root });
  await listsKnowAll();
  return token;
}

async function found(filter: string): Promise<unknown[]> {
  const answer = await call("GET", `sys/tokens?${filter}`, { token: root });
  expect(answer.status).toBe(200);
  return dataOf<{ tokens: { accessor: string }[] }>(answer).tokens;
}

/** Revokes one token by a filter, and returns what became of it. */
async function revoke(filter: Record<string, unknown>): Promise<unknown> {
  const body = { ...filter, dry_run: false, expected_count: 1 };
  const { job } = dataOf<{ job: string }>(await call("POST", "sys/tokens/revoke", { token: root, body }));
  for (let step = 0; step < 10; step++) {
    await ringAlarm(revocationsOf(bindings));
    const { data } = (await call("GET", `sys/tokens/jobs/${job}`, { token: root })).body;
    if (data.state !== "running") return data;
  }
  throw new Error("the job does not end");
}

it("a token that somebody has put under a filter in the list is not revoked by it, and that is on record", async () => {
  const victim = await made("victim");
  const bait = await made("bait");
  await writeStorage(listOf(bait), `UPDATE inventory SET accessor = '${victim.accessor}' WHERE ${rowOf(bait)}`);
  const lines = tamperingLines();
  expect(await revoke({ display_name: "token-bait" })).toMatchObject({ state: "done", revoked: 0, mismatched: 1 });
  expect(await isAlive(victim.client_token)).toBe(true);

  vi.setSystemTime(Date.now() + SAFETY_AGE_MS + 1000);
  expect((await tidyNow()).tampered).toBe(1);
  expect(await found("display_name=token-bait")).toEqual([]);
  expect(await found("display_name=token-victim")).toMatchObject([{ accessor: victim.accessor }]);
  const { treeId, row } = decodeStoredId(victim.accessor) ?? {};
  expect(lines()).toContainEqual({ type: "tampering", kind: "inventory entry", object: treeId, row });
});

it("a token whose end or last use was changed in the list is not revoked for that", async () => {
  const ending = await made("ending");
  const soon = Date.now() + 60_000;
  const used = await made("used");
  await isAlive(used.client_token);
  await writeStorage(
    listOf(ending),
    `UPDATE inventory SET ends = ${soon}, entry = json_set(entry, '$.expiresAt', ${soon}) WHERE ${rowOf(ending)}`,
  );
  const before = new Date(soon + 1).toISOString();
  expect(await revoke({ display_name: "token-ending", ends_before: before })).toMatchObject({ mismatched: 1 });
  expect(await isAlive(ending.client_token)).toBe(true);

  vi.setSystemTime(Date.now() + 10);
  const since = new Date().toISOString();
  // Its use is on the list, and no later update brings it there again.
  await (await locate(used.client_token)).stub.publishUpdates();
  await writeStorage(
    listOf(used),
    `UPDATE inventory SET entry = json_set(entry, '$.lastUsed', NULL) WHERE ${rowOf(used)}`,
  );
  expect(await revoke({ display_name: "token-used", unused_since: since })).toMatchObject({ mismatched: 1 });
  expect(await isAlive(used.client_token)).toBe(true);
});

it.each([
  ["deleted", "", "DELETE FROM inventory WHERE"],
  ["given another name", "wrong", `UPDATE inventory SET entry = replace(entry, '"token-', '"no-') WHERE`],
  ["made unreadable", "wrong", "UPDATE inventory SET entry = '{' WHERE"],
  ["moved to another moment", "wrong", "UPDATE inventory SET id = 1 WHERE"],
  ["put on another path", "wrong", "UPDATE inventory SET path = 'auth/elsewhere/login' WHERE"],
  ["said to end at another moment", "wrong", `UPDATE inventory SET ends = 1 WHERE`],
])("an entry that was %s in the list is put right by tidy", async (how, verdict, statement) => {
  const name = `token-hidden-${how.replaceAll(" ", "-")}`;
  // A tree is visited while something of it is listed.
  const parent = await createToken(root, { policies: ["maker"], no_parent: true, ttl: "2h" });
  const token = await made(name.slice("token-".length), parent.client_token);
  const [entry] = await found(`display_name=${name}`);
  expect(entry).toMatchObject({ accessor: token.accessor });
  const lines = tamperingLines();
  // What finds tokens by their names is hidden as well.
  await writeStorage(listOf(token), `${statement} ${rowOf(token)}`, "DELETE FROM postings", "DELETE FROM pending");
  vi.setSystemTime(Date.now() + SAFETY_AGE_MS + 1000);
  expect(await tidyNow()).toMatchObject({ failures: 0, tampered: verdict === "wrong" ? 1 : 0 });
  // What the first run has put on a list again that it had read before is described by the next.
  expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 0 });
  expect(await found(`display_name=${name}&created_before=${new Date(Date.now() + HOUR).toISOString()}`)).toEqual([
    entry,
  ]);
  const object = listOf(token).id.toString();
  const line = { type: "tampering", kind: "inventory entry", object, row: token.accessor };
  expect(lines()).toEqual(verdict === "wrong" ? [line] : []);
  expect(await revoke({ display_name: name })).toMatchObject({ revoked: 1, mismatched: 0 });
});

it("rows of no token are taken off the list by tidy, and hide nothing from it", async () => {
  const parent = await createToken(root, { policies: ["maker"], no_parent: true, ttl: "2h" });
  const hidden = await made("behind-others", parent.client_token);
  await writeStorage(
    listOf(hidden),
    `UPDATE inventory SET entry = replace(entry, '"token-', '"no-') WHERE ${rowOf(hidden)}`,
    // More than a page of them, before all accessors.
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 2 * ${LIST_PAGE})
     INSERT INTO inventory (id, accessor, path, ends, entry) SELECT i, '!', 'auth/none', 1, '{}' FROM n`,
  );
  vi.setSystemTime(Date.now() + SAFETY_AGE_MS + 1000);
  expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 1 });
  expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 0 });
  expect(await found("display_name=token-behind-others")).toMatchObject([{ accessor: hidden.accessor }]);
  expect(await listOf(hidden).list("", 1)).not.toContain("!");
});

it.each([
  ["was moved to another moment", "UPDATE inventory SET id = 1 WHERE"],
  ["can't be read", "UPDATE inventory SET entry = '{' WHERE"],
  ["says nothing", "UPDATE inventory SET entry = '{}' WHERE"],
])("the entry of a token that has ended is taken off the list when it %s", async (_, statement) => {
  const token = await made("ended");
  await writeStorage(listOf(token), `${statement} ${rowOf(token)}`);
  const { stub } = await locate(token.client_token);
  const log = vi.spyOn(console, "error");
  await call("POST", "auth/token/revoke", { token: root, body: { token: token.client_token } });
  await sweep(stub);
  expect(log.mock.calls.filter(([line]) => String(line).includes('"type":"sweep"'))).toEqual([]);
  vi.setSystemTime(Date.now() + SAFETY_AGE_MS + 1000);
  expect(await tidyNow()).toMatchObject({ failures: 0 });
  expect(await listOf(token).list("", 1000)).not.toContain(token.accessor);
});

it.each(["{", "{}", "null"])("an entry that is %s hides no other token, and keeps none off the list", async (text) => {
  const damaged = await made("damaged");
  const shard = listOf(damaged);
  const [entry] = await shard.findListed([damaged.accessor]);
  if (!entry) throw new Error("the token is not listed");
  await writeStorage(shard, `UPDATE inventory SET entry = '${text}' WHERE ${rowOf(damaged)}`);
  const all = `created_before=${new Date(Date.now() + HOUR).toISOString()}`;
  for (const sort of ["-created", "end"]) {
    expect(await found(`${all}&sort=${sort}&limit=100`)).toContainEqual(
      expect.objectContaining({ accessor: damaged.accessor, display_name: "" }),
    );
  }
  const ends = { from: Date.now(), step: 24 * HOUR, parts: 1, now: Date.now(), keys: null, mount: null } as const;
  expect((await shard.endsByGroup({ ...ends, kind: "name" }))?.all[0]).toBeGreaterThan(0);
  // The tree's next update puts it right.
  const { id: _, ...update } = entry;
  await shard.applyUpdates({ made: [], changed: [update], sizes: [], started: [] });
  expect(await shard.findListed([damaged.accessor])).toEqual([entry]);
});

it("a token that is taken off the list while its tree is asked about it stays off", async () => {
  const token = await made("taken-off");
  await runInDurableObject(listOf(token), async (shard) => {
    const asked = shard.describeAnew([], [token.accessor]);
    shard.remove([token.accessor]);
    await asked;
    expect(shard.list("", 1000)).not.toContain(token.accessor);
  });
});
