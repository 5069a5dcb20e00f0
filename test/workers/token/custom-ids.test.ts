import { beforeAll, beforeEach, expect, it, vi } from "vitest";
import { fromHex, toHex } from "../../../src/crypto/bytes.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { type CustomIdHash, customIdHashes, treeIdOf } from "../../../src/token/ids.ts";
import { treeAt } from "../../../src/token/tree-stub.ts";
import { customIdsOf } from "../../../src/tree/custom-ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls } from "../../support/calls.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { holdSweeps, sweep } from "../../support/trees.ts";

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
  const rows = await rowsOf(customIdsOf(bindings, directoryKey), "custom_ids");
  return rows.map(({ key }) => key);
}

it("the directory of chosen ids stores nothing of what the tree compares", async () => {
  await call("POST", "auth/token/create", { token: root, body: { id: "chosen", policies: ["default"] } });
  const hash = await hashOf("chosen");
  expect(await storedKeys(hash)).toEqual([hash.directoryKey]);
  expect(fromHex(hash.directoryKey)).toHaveLength(8);
  expect(toHex(hash.verifier)).not.toContain(hash.directoryKey);
});

it("an id that was chosen again is not taken from its token by the sweep of the one before", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const create = () => call("POST", "auth/token/create", { token: root, body: { id: "again", no_parent: true } });
  const { accessor } = (await create()).body.auth;
  await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } });
  expect((await create()).status).toBe(200);
  await sweep(treeAt(bindings, treeIdOf(accessor)));
  // Isolates look up the id again.
  vi.setSystemTime(Date.now() + 10_000);
  expect((await call("GET", "auth/token/lookup-self", { token: "again" })).status).toBe(200);
  vi.useRealTimers();
});

it.each([
  ["the first of a tree", true, "create"],
  ["a child", false, "insert"],
] as const)(
  "a creation that is late, of %s, does not get an id that another one has got",
  async (_, no_parent, method) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = `late-${method}`;
    const create = (display_name: string) =>
      call("POST", "auth/token/create", { token: root, body: { id, no_parent, display_name } });
    let second: Awaited<ReturnType<typeof create>> | null = null;
    const held = atCalls(TokenTree, method, async ({ proceed }) => {
      held.end();
      // The reservation counts as left behind by a crash now.
      vi.setSystemTime(Date.now() + 61_000);
      second = await create("second");
      return proceed();
    });
    const first = await create("first");
    expect(second).toMatchObject({ status: 200 });
    expect(first.status).toBe(400);
    const found = await call("GET", "auth/token/lookup-self", { token: id });
    expect(found.body.data).toMatchObject({ display_name: "token-second" });
    vi.useRealTimers();
  },
);
