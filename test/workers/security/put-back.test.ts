import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ONE_PROCESS } from "../../../src/app/deployments.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { forgetInstallation, mustLoadInstallation } from "../../../src/system/installation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { startShardChecks } from "../../../src/tidy/shard-tidy.ts";
import { tidyOf } from "../../../src/tidy/tidy.ts";
import { treeIdOf } from "../../../src/token/ids.ts";
import { treeAt } from "../../../src/token/tree-stub.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { backUp, loseEverything, restore } from "../../support/backups.ts";
import { atCalls, atNth, failing } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { changeRows, copyStorage, deleteRows } from "../../support/storage-writer.ts";
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
const usual = bindings.deployment;
afterEach(() => {
  vi.useRealTimers();
  runAs(usual);
});

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

describe("a tree that is reset to a state before a revocation", () => {
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

  it("when a tree without tokens is used again", async () => {
    runAs(ONE_PROCESS);
    const before = await orphan();
    const { treeId } = await locate(before.client_token);
    await listsKnowAll();
    await revoke(before);
    await sweep(await stubOf(before));
    pass(HOUR_MS);
    atNth(AccessorShard, "allocateTrees", 1, () => [treeId]);
    const after = await orphan();
    expect((await locate(after.client_token)).treeId).toBe(treeId);
    pass(HOUR_MS);
    expect(await revivedNow()).toBe(0);
    expect(await listedAccessors()).toContain(after.accessor);
  });

  it("when a chosen id is given again", async () => {
    const id = "chosen-twice";
    const before = await orphan({ id });
    await listsKnowAll();
    await revoke(before);
    await sweep(treeAt(bindings, treeIdOf(before.accessor)));
    pass(HOUR_MS);
    const again = await orphan({ id });
    pass(HOUR_MS);
    expect(await revivedNow()).toBe(0);
    expect(await isAlive(again)).toBe(true);
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

describe("a System object that is reset to an earlier state", () => {
  const rule = 'path "secret/*" { capabilities = ["read"] }';
  const writePolicy = (name: string) =>
    call("POST", `sys/policies/acl/${name}`, { token: root, body: { policy: rule } });
  const system = () => systemOf(bindings);
  const hourly = () => tidyOf(bindings).startHourly();
  const found = () => tidyOf(bindings).systemPutBack();
  const revision = () => system().revision();
  /** The System object as it is now; in place of a later one with a call of the result. */
  const copySystem = async () => {
    const putBack = await copyStorage(system());
    return async () => {
      await putBack(system());
      forgetInstallation();
    };
  };

  it("is found by the hourly run, reported once, and shown for 30 days", async () => {
    await hourly();
    const putBack = await copySystem();
    const before = await revision();
    await writePolicy("later");
    const later = await revision();
    expect(later).toBeGreaterThan(before);
    await hourly();
    expect(await found()).toEqual([]);

    await putBack();
    const lines = linesOf("storage put back");
    await hourly();
    await hourly();
    const finding = { at: clock, from: later, to: before };
    expect(lines()).toEqual([{ type: "storage put back", object: "System", ...finding }]);
    expect(await found()).toEqual([finding]);
    expect(await check("storage")).toMatchObject({
      state: "failing",
      seen: expect.stringContaining("the System object was found put back to an earlier state"),
    });

    // The mark follows: the next change is none.
    await writePolicy("later");
    await hourly();
    expect(await found()).toHaveLength(1);
    pass(29 * 24 * HOUR_MS);
    expect(await found()).toHaveLength(1);
    pass(24 * HOUR_MS);
    expect(await found()).toEqual([]);
  });

  it("is found within a minute in a cluster", async () => {
    const up = () => tidyOf(bindings).nodeSeen("node", "1");
    const putBack = await copySystem();
    await writePolicy("minute");
    await up();
    await putBack();
    await up();
    expect(await found()).toHaveLength(1);
    pass(31 * 24 * HOUR_MS);
  });

  it("is found by a mark that somebody without keys has lowered, and no mark is known", async () => {
    await hourly();
    await changeRows(tidyOf(bindings), "marks", { value: JSON.stringify({ revision: 1, found: [] }) });
    const tampering = linesOf("tampering");
    await hourly();
    expect(tampering()).toMatchObject([{ kind: "system mark" }]);
    expect(await found()).toEqual([{ at: clock, from: null, to: await revision() }]);
    expect(await check("storage")).toMatchObject({ state: "failing" });
    await hourly();
    expect(await found()).toHaveLength(1);
    pass(31 * 24 * HOUR_MS);
  });

  it("is not found when it changes while it is compared", async () => {
    await hourly();
    let isNested = false;
    atCalls(System, "revision", async ({ proceed }) => {
      const answer = await proceed();
      // Another check comes to its end in between, and sees more.
      if (!isNested) {
        isNested = true;
        await writePolicy("between");
        await hourly();
      }
      return answer;
    });
    await writePolicy("before");
    await hourly();
    const [mark] = await rowsOf(tidyOf(bindings), "marks");
    expect(JSON.parse(String(mark?.value))).toMatchObject({ revision: await revision() });
    await hourly();
    expect(await found()).toEqual([]);
  });

  it("is not found, and stops nothing, while it runs the last release", async () => {
    await hourly();
    failing(System, "revision", "does not implement the method", 1);
    vi.spyOn(console, "error").mockReturnValue(undefined);
    await hourly();
    expect(await found()).toEqual([]);
    expect((await tidyOf(bindings).status()).running).not.toBeNull();
  });

  it("is not found by a mark whose term of keys is dropped", async () => {
    await hourly();
    await call("POST", "sys/rotate", { token: root });
    pass(HOUR_MS);
    await hourly();
    const [row] = await rowsOf(tidyOf(bindings), "marks");
    const { terms } = (await mustLoadInstallation(bindings)).keys;
    const seal = row?.seal instanceof Uint8Array ? row.seal : new Uint8Array(2);
    expect((seal[0] ?? 0) * 256 + (seal[1] ?? 0)).toBe(terms[0].version);
    expect(terms[0].version).toBeGreaterThan(1);
  });
});

describe("a restore through the API", () => {
  it.each([
    ["of this release", false],
    ["of the last release, which counted no changes", true],
  ])("into an empty installation shows nothing: a backup %s", async (_, isOld) => {
    const top = await orphan({ policies: ["root"] });
    const child = await createToken(top.client_token, { policies: ["default"] });
    await tidyOf(bindings).startHourly();
    if (isOld) await deleteRows(systemOf(bindings), "part_versions", { part: "revision" });
    // The tree is read before its token is revoked, the System object after later changes.
    const backup = await backUp(root, async () => {
      await revoke(child);
      await sweep(await stubOf(child));
    });
    pass(HOUR_MS);
    await loseEverything();
    await restore(backup);
    for (let hour = 0; hour < 2; hour++) {
      pass(HOUR_MS);
      await tidyOf(bindings).startHourly();
      await checkAllShards();
    }
    expect(await isAlive(child)).toBe(true);
    expect(await tidyOf(bindings).systemPutBack()).toEqual([]);
    expect(await check("storage")).toMatchObject({ state: "ok" });
  });
});
