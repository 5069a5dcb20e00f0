import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { fromHex, toHex } from "../../../src/crypto/bytes.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { type CustomIdHash, customIdHashes } from "../../../src/token/ids.ts";
import { customIdsOf } from "../../../src/tree/custom-ids.ts";
import { treeOf } from "../../../src/tree/find-tree.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { holdSweeps, rewriteRecordAt, sweep } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

async function hashOf(id: string): Promise<CustomIdHash> {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error("no installation");
  return (await customIdHashes(loaded.value.keys, id, Date.now()))[0];
}

/** The keys that the part of the directory with the entry of `id` stores. */
async function storedKeys({ directoryKey }: CustomIdHash): Promise<unknown[]> {
  const rows = await runInDurableObject(customIdsOf(bindings, directoryKey), (_, { storage }) =>
    storage.sql.exec("SELECT key FROM custom_ids").toArray(),
  );
  return rows.map(({ key }) => key);
}

const lookup = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

it("the directory of chosen ids stores nothing of what the tree compares", async () => {
  await call("POST", "auth/token/create", { token: root, body: { id: "chosen", policies: ["default"] } });
  const hash = await hashOf("chosen");
  expect(await storedKeys(hash)).toEqual([hash.directoryKey]);
  expect(fromHex(hash.directoryKey)).toHaveLength(8);
  expect(toHex(hash.verifier)).not.toContain(hash.directoryKey);
});

it("a directory of before, with whole hashes as keys, keeps its tokens and lets them end", async () => {
  await call("POST", "auth/token/create", { token: root, body: { id: "of-before", no_parent: true, ttl: "1h" } });
  const hash = await hashOf("of-before");
  const whole = toHex(hash.filterKey);
  const directory = customIdsOf(bindings, hash.directoryKey);
  const address = await directory.find(hash.directoryKey);
  const tree = () => {
    const found = treeOf(bindings, address?.treeId ?? "");
    if (!found) throw new Error("the directory leads nowhere");
    return found;
  };
  await runInDurableObject(directory, (_, { storage: { sql } }) => {
    sql.exec("UPDATE custom_ids SET key = ? WHERE key = ?", whole, hash.directoryKey);
    sql.exec("DROP VIEW schema_version; CREATE VIEW schema_version AS SELECT 1 AS version");
  });
  await evictDurableObject(directory);
  await rewriteRecordAt({ stub: tree(), treeId: address?.treeId ?? "", row: address?.row ?? 0 }, (record) => ({
    ...record,
    customIdKey: whole,
  }));

  expect(await lookup("of-before")).toBe(200);
  expect(await storedKeys(hash)).toContain(hash.directoryKey);
  await call("POST", "auth/token/revoke-self", { token: "of-before" });
  await sweep(tree());
  expect(await storedKeys(hash)).not.toContain(hash.directoryKey);
});
