import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { startShardChecks } from "../../../src/tidy/shard-tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { copyStorage } from "../../support/storage-writer.ts";
import { checkShards, holdTidy, listedAccessors, listsKnowAll, tidyNow } from "../../support/tidy.ts";
import { endSingleTokens, holdSweeps, locate, sweep } from "../../support/trees.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let root: string;
let clock = Date.now();

type Made = Awaited<ReturnType<typeof createToken>>;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  holdSweeps();
  holdTidy();
  vi.useFakeTimers({ toFake: ["Date"] });
  pass(2 * HOUR_MS);
});
afterEach(() => vi.useRealTimers());

function pass(ms: number): void {
  clock += ms;
  vi.setSystemTime(clock);
}

const orphan = (fields: Record<string, unknown> = {}) =>
  createToken(root, { policies: ["default"], no_parent: true, ...fields });
const stubOf = async ({ client_token }: Made) => (await locate(client_token)).stub;
const isAlive = async ({ client_token }: Made) =>
  (await call("GET", "auth/token/lookup-self", { token: client_token })).status === 200;
const revoke = ({ accessor }: Made) => call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } });
const checkAllShards = async () => {
  await startShardChecks(bindings);
  await checkShards();
};
const check = async (name: string) =>
  dataOf<{ checks: { name: string; state: string; seen: string; link: string }[] }>(
    await call("GET", "sys/doctor", { token: root }),
  ).checks.find((one) => one.name === name);

/** Lines of this type that are logged from now on. */
function linesOf(wanted: string): () => Record<string, unknown>[] {
  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  return () =>
    log.mock.calls
      .map(([line]) => JSON.parse(String(line)) as Record<string, unknown>)
      .filter(({ type }) => type === wanted);
}

/** The tree of a token is copied, the token is revoked and swept, and the copy put in place of what is left. */
async function revokedAndPutBack(token: Made): Promise<void> {
  await listsKnowAll();
  const putBack = await copyStorage(await stubOf(token));
  await revoke(token);
  await sweep(await stubOf(token));
  expect(await isAlive(token)).toBe(false);
  await putBack(await stubOf(token));
}

describe("a tree that is put back to a state before a revocation", () => {
  it("is found by tidy when another of its tokens is listed", async () => {
    const top = await orphan({ policies: ["root"] });
    const child = await createToken(top.client_token, { policies: ["default"] });
    await revokedAndPutBack(child);
    expect(await isAlive(child)).toBe(true);

    pass(HOUR_MS);
    const lines = linesOf("revived tokens");
    // The first run lists the token, if it comes to its tree after its place on the list.
    await tidyNow();
    expect((await tidyNow()).revived).toBe(1);
    const { treeId } = await locate(child.client_token);
    expect(lines().at(-1)).toEqual({ type: "revived tokens", trees: [treeId], accessors: [child.accessor] });

    await checkAllShards();
    expect(await check("storage")).toMatchObject({
      state: "failing",
      seen: "1 tokens that had ended are alive again: their trees were put back to an earlier state",
      link: "docs/runbook.md#storage-was-put-back",
    });
    const { last, background } = dataOf<Record<string, Record<string, unknown>>>(
      await call("GET", "auth/token/tidy-status", { token: root }),
    );
    expect([last?.tokens_revived, background?.revived]).toEqual([1, 1]);

    await revoke(child);
    await sweep(await stubOf(child));
    expect((await tidyNow()).revived).toBe(0);
    pass(HOUR_MS);
    await checkAllShards();
    expect(await check("storage")).toMatchObject({ state: "ok" });
  });

  it("is found when its only token is used again", async () => {
    const token = await orphan();
    await revokedAndPutBack(token);
    pass(HOUR_MS);
    expect((await tidyNow()).revived).toBe(0);
    expect(await isAlive(token)).toBe(true);
    await (await stubOf(token)).publishUpdates();
    expect(await listedAccessors()).toContain(token.accessor);
    expect((await tidyNow()).revived).toBe(1);
    await revoke(token);
    await sweep(await stubOf(token));
  });
});

describe("nothing is found", () => {
  const revivedNow = async () => (await tidyNow()).revived;

  it("when an update arrives late, after the end of its token", async () => {
    const token = await createToken((await orphan({ policies: ["root"] })).client_token, { policies: ["default"] });
    await listsKnowAll();
    const shard = accessorShard(bindings, accessorShardNumber(token.accessor));
    const [entry] = await shard.findListed([token.accessor]);
    if (!entry) throw new Error("it is listed");
    await revoke(token);
    await sweep(await stubOf(token));
    const update = { made: [], changed: [entry], sizes: [], started: [] };
    await shard.applyUpdates(update);
    expect(await listedAccessors()).not.toContain(token.accessor);
    // Later than any update should be: its tree decides.
    pass(HOUR_MS);
    await shard.applyUpdates(update);
    expect(await listedAccessors()).toContain(token.accessor);
    expect(await revivedNow()).toBe(0);
    expect(await listedAccessors()).not.toContain(token.accessor);
  });

  it("when a token expired by a clock that went back later", async () => {
    const token = await orphan({ ttl: "1h", explicit_max_ttl: "1h" });
    await listsKnowAll();
    pass(2 * HOUR_MS);
    await endSingleTokens();
    pass(-2 * HOUR_MS);
    expect(await revivedNow()).toBe(0);
    pass(HOUR_MS / 2);
    expect(await revivedNow()).toBe(0);
    expect(await isAlive(token)).toBe(false);
  });

  it("when the record of the end is younger than calls between objects may be late", async () => {
    const top = await orphan({ policies: ["root"] });
    const child = await createToken(top.client_token, { policies: ["default"] });
    pass(HOUR_MS);
    await revokedAndPutBack(child);
    pass(9 * MINUTE_MS);
    await tidyNow();
    expect(await revivedNow()).toBe(0);
    pass(2 * MINUTE_MS);
    expect(await revivedNow()).toBe(1);
    await revoke(child);
    await sweep(await stubOf(child));
  });

  it("when a token is not on the list though its tree has it", async () => {
    const token = await orphan({ policies: ["root"] });
    const child = await createToken(token.client_token, { policies: ["default"] });
    await listsKnowAll();
    await accessorShard(bindings, accessorShardNumber(child.accessor)).remove([child.accessor]);
    pass(HOUR_MS);
    await tidyNow();
    expect(await listedAccessors()).toContain(child.accessor);
    expect(await revivedNow()).toBe(0);
  });

  it("when a tree or a shard runs the last release", async () => {
    const token = await orphan({ policies: ["root"] });
    const child = await createToken(token.client_token, { policies: ["default"] });
    await revokedAndPutBack(child);
    pass(HOUR_MS);
    await tidyNow();
    const old = atCalls(TokenTree, "tidy", async ({ proceed }) => {
      const { revived: _, ...answer } = await proceed();
      return answer;
    });
    expect(await revivedNow()).toBe(0);
    old.end();
    const oldShard = atCalls(AccessorShard, "claims", async ({ proceed }) =>
      (await proceed()).map(({ accessor, entry }) => ({ accessor, entry })),
    );
    expect(await revivedNow()).toBe(0);
    oldShard.end();
    expect(await revivedNow()).toBe(1);
    await revoke(child);
    await sweep(await stubOf(child));
  });
});
