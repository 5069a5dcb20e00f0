import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parsePolicy } from "../../../src/policy/parse.ts";
import { MAX_ALL_VERSIONS, MAX_POLICY_VERSIONS, MAX_VERSIONS_LENGTH } from "../../../src/system/policy-versions.ts";
import type { Actor } from "../../../src/system/revocation-origin.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { backUp, loseEverything, restore } from "../../support/backups.ts";
import { failing } from "../../support/calls.ts";
import { costOf } from "../../support/costs.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { alter, changeRows, insertRows, tamperingLines } from "../../support/storage-writer.ts";
import { holdTidy, tidyNow } from "../../support/tidy.ts";
import { holdSweeps } from "../../support/trees.ts";

const ACL = "sys/policies/acl";
const TABLE = "policy_versions";
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

interface Version {
  readonly version: number;
  readonly modified: string;
  readonly by: { readonly accessor: string; readonly display_name: string; readonly entity_id: string } | null;
}

let root: string;

beforeEach(() => {
  holdSweeps();
  holdTidy();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

beforeAll(async () => {
  root = await initialized();
});

const system = () => bindings.SYSTEM.getByName("system");
/** A policy that no other is like. */
const textOf = (word: string | number) => `path "cubbyhole/${word}" { capabilities = ["read"] }`;
const write = (name: string, word: string | number, fields: Record<string, unknown> = {}, token = root) =>
  call("POST", `${ACL}/${name}`, { token, body: { policy: textOf(word), ...fields } });
/** Writes a policy at the object. A Worker of the release before does not say who writes. */
const writeAs = (name: string, text: string, by: Actor | undefined, at = Date.now()) => {
  const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false };
  const parsed = parsePolicy(text.split("\n")[0] ?? "", at);
  const rulesJson = JSON.stringify(parsed.ok ? parsed.value : []);
  return systemOf(bindings).writePolicy(name, { content: { text, rulesJson }, cas: null, ...settings }, at, by);
};
const WRITER: Actor = { accessor: "accessor", displayName: "ann", entityId: "" };
const remove = (name: string) => call("DELETE", `${ACL}/${name}`, { token: root });
const show = (name: string, query = "", token = root) =>
  call("GET", `sys/policies/versions/acl/${name}${query}`, { token });

async function versions(name: string): Promise<Version[]> {
  const { keys, key_info } = dataOf<{ keys: string[]; key_info: Record<string, Version> }>(
    await show(name, "?list=true"),
  );
  return keys.flatMap((key) => key_info[key] ?? []);
}

const numbers = async (name: string) => (await versions(name)).map(({ version }) => version);
const stored = async (name: string) =>
  (await rowsOf(system(), TABLE)).filter((row) => row.name === name).map(({ version }) => version);

describe("the versions of a policy", () => {
  it("are the texts with their settings, when each was written, and by which token", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-29T10:00:00Z") });
    const ann = await createToken(root, { policies: ["root"], display_name: "ann" });
    await write("app", "first", { allow_slashes_in_identity_templates: true });
    vi.setSystemTime(Date.parse("2026-11-29T11:00:00Z"));
    await write("app", "second", {}, ann.client_token);
    vi.setSystemTime(Date.parse("2026-11-29T12:00:00Z"));
    const body = { policy: textOf("third") };
    await call("PATCH", `${ACL}/app`, { token: ann.client_token, body, headers: MERGE_PATCH });

    const listed = await versions("App");
    expect(listed).toMatchObject([
      { version: 3, modified: "2026-11-29T12:00:00.000Z", by: { accessor: ann.accessor, display_name: "token-ann" } },
      { version: 2, modified: "2026-11-29T11:00:00.000Z", by: { accessor: ann.accessor } },
      { version: 1, modified: "2026-11-29T10:00:00.000Z", by: { display_name: "root" } },
    ]);
    const first = dataOf<Record<string, unknown>>(await show("APP", "?version=1"));
    expect(first).toEqual({
      name: "app",
      version: 1,
      policy: textOf("first"),
      modified: "2026-11-29T10:00:00.000Z",
      by: listed[2]?.by,
      cas_required: false,
      allow_slashes_in_identity_templates: true,
      allow_wildcards_in_identity_templates: false,
    });
    expect((await show("app")).body.data).toMatchObject({ version: 3, policy: textOf("third") });
    const page = dataOf<{ keys: string[] }>(await show("app", "?list=true&after=3&limit=1"));
    expect(page.keys).toEqual(["2"]);
    expect((await show("app", "?version=4")).status).toBe(404);
    expect((await show("app", "?version=0")).status).toBe(404);
  });

  it("are none of a policy that does not exist, and of one that can't be written", async () => {
    for (const name of ["never", "root", "response-wrapping"]) {
      expect([name, (await show(name, "?list=true")).status, (await show(name)).status]).toEqual([name, 404, 404]);
    }
  });

  it("begin with the policy of a new installation, which nobody wrote", async () => {
    expect(await versions("default")).toMatchObject([{ version: 1, by: null }]);
    await write("default", "own");
    expect(await versions("default")).toMatchObject([{ version: 2 }, { version: 1, by: null }]);
    expect((await show("default", "?version=1")).body.data.policy).toContain("lookup-self");
  });

  it("need sudo, also those of a name in another case", async () => {
    await write("shown", 1);
    await call("POST", `${ACL}/reader`, {
      token: root,
      body: {
        policy: `path "sys/policies/versions/acl/shown*" { capabilities = ["read", "list", "sudo"] }
          path "sys/policies/versions/acl/app" { capabilities = ["read", "list"] }`,
      },
    });
    const { client_token: token } = await createToken(root, { policies: ["reader"] });
    const statuses = (name: string) =>
      Promise.all(["", "?list=true"].map(async (query) => (await show(name, query, token)).status));
    expect(await statuses("SHOWN")).toEqual([200, 200]);
    expect(await statuses("app")).toEqual([403, 403]);
    expect(await statuses("default")).toEqual([403, 403]);
  });
});

describe("a way back", () => {
  it("is a write of the old text over the version that was seen; of two of them one wins", async () => {
    await write("back", "good");
    await write("back", "bad");
    const { policy } = dataOf<{ policy: string }>(await show("back", "?version=1"));
    const again = () => call("POST", `${ACL}/back`, { token: root, body: { policy, cas: 2 } });
    const answers = await Promise.all([again(), again()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    expect((await call("GET", `${ACL}/back`, { token: root })).body.data).toMatchObject({ version: 3, policy });
    expect(await numbers("back")).toEqual([3, 2, 1]);
  });

  it("leaves nothing of a write that is refused", async () => {
    await write("refused", "one");
    expect((await write("refused", "two", { cas: 7 })).status).toBe(400);
    expect(await stored("refused")).toEqual([1]);
  });
});

describe("what is kept", () => {
  it("is a number of versions of each policy", async () => {
    for (let word = 1; word <= MAX_POLICY_VERSIONS + 2; word++) await write("often", word);
    const kept = await numbers("often");
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([MAX_POLICY_VERSIONS, MAX_POLICY_VERSIONS + 2, 3]);
    expect((await show("often", "?version=2")).status).toBe(404);
    expect(await stored("often")).toHaveLength(MAX_POLICY_VERSIONS);
  });

  it("is of all policies a number of characters: the oldest go first", async () => {
    // Five of them are more than what is kept.
    const long = (name: string) => writeAs(name, `${textOf(name)}\n#${"x".repeat(MAX_VERSIONS_LENGTH / 5)}`, WRITER);
    for (const name of ["long-a", "long-b", "long-a", "long-b"]) await long(name);
    await write("short", 1);
    expect([await numbers("long-a"), await numbers("long-b")]).toEqual([
      [2, 1],
      [2, 1],
    ]);
    await long("long-a");
    expect([await numbers("long-a"), await numbers("long-b")]).toEqual([
      [3, 2],
      [2, 1],
    ]);
    expect([await numbers("short"), await stored("often")]).toEqual([[1], []]);
    for (const name of ["long-a", "long-b"]) await remove(name);
  });

  it("counts names, settings and writers as well", async () => {
    const name = "n".repeat(300);
    await writeAs(name, textOf(1), { ...WRITER, displayName: "d".repeat(400) });
    const [row] = (await rowsOf(system(), TABLE)).filter((one) => one.name === name);
    const texts = [row?.name, row?.text, row?.settings, row?.changed_by].map(String);
    expect(row?.size).toBe(texts.join("").length);
    await remove(name);
  });

  it("is of all policies a number of versions: the oldest go first", async () => {
    await write("many", 1);
    // More than any policy has, but of one policy they are as many rows.
    await alter(
      system(),
      `WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < ${99 + MAX_ALL_VERSIONS})
       INSERT INTO policy_versions (name, version, size, text, settings, modified_at, changed_by)
       SELECT 'many', i, 1, '', '{}', i, 'null' FROM n`,
    );
    await write("new", 1);
    expect((await rowsOf(system(), TABLE)).length).toBe(MAX_ALL_VERSIONS);
    const kept = await stored("many");
    expect([kept.includes(1), kept.includes(100), kept.includes(99 + MAX_ALL_VERSIONS)]).toEqual([true, false, true]);
    expect(await stored("new")).toEqual([1]);
    for (const one of ["many", "new"]) await remove(one);
  });

  it("goes with the policy that is deleted or expires: one of the same name begins anew", async () => {
    await write("gone", "old");
    await write("gone", "older");
    expect((await remove("gone")).status).toBe(204);
    expect([(await show("gone")).status, await stored("gone")]).toEqual([404, []]);
    await write("gone", "new");
    expect(await numbers("gone")).toEqual([1]);

    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await write("brief", "one", { ttl: "60" });
    vi.setSystemTime(Date.now() + 61_000);
    expect((await show("brief")).status).toBe(404);
    await write("other", 1);
    expect(await stored("brief")).toEqual([]);
  });

  it("is one row more for a write, and nothing for a decision or a copy of an isolate", async () => {
    await write("cost", "before");
    const versionsNow = (await rowsOf(system(), TABLE)).length;
    const ours = await costOf(system(), () => writeAs("cost", textOf("after"), WRITER));
    // The policy, its version, that of the part, and the count of changes.
    expect(ours.rowsWritten).toBe(4);
    // For the bound of all, each version once.
    expect(ours.rowsRead - versionsNow).toBeLessThan(2 * (await rowsOf(system(), "policies")).length + 20);
    const copied = JSON.stringify((await systemOf(bindings).snapshot(null))?.parts.policies);
    expect(copied).toContain("cubbyhole/after");
    expect(copied).not.toContain("cubbyhole/before");
  });
});

describe("beside a release that does not know of versions", () => {
  it("a write that it made is recorded when it is replaced, without a writer, whatever the clocks say", async () => {
    await write("mixed", "ours");
    await writeAs("mixed", textOf("theirs"), undefined, Date.now() + 3_600_000);
    expect(await versions("mixed")).toMatchObject([{ version: 2, by: null }, { version: 1 }]);
    await write("mixed", "ours again");
    expect(await versions("mixed")).toMatchObject([{ version: 3 }, { version: 2, by: null }, { version: 1 }]);
    expect((await show("mixed", "?version=2")).body.data.policy).toBe(textOf("theirs"));
  });

  it("the version that it left behind of a policy that it deleted is not taken for that of a new one", async () => {
    await write("left", "ours");
    const [row] = (await rowsOf(system(), TABLE)).filter(({ name }) => name === "left");
    await remove("left");
    await writeAs("left", textOf("theirs"), undefined, Date.now() + 3_600_000);
    await insertRows(system(), TABLE, [{ ...row }]);
    expect(await versions("left")).toMatchObject([{ version: 1, by: null }]);
    await write("left", "ours again");
    expect((await show("left", "?version=1")).body.data.policy).toBe(textOf("theirs"));
  });
});

it("an object of the last release has no versions: a 503 says that an upgrade is under way", async () => {
  await write("early", 1);
  const noMethod = new TypeError('The RPC receiver does not implement the method "policyVersions".');
  failing(System, "policyVersions", noMethod);
  vi.spyOn(console, "error").mockReturnValue(undefined);
  for (const query of ["", "?list=true"]) {
    const { status, body } = await show("early", query);
    expect([status, body.errors]).toEqual([503, [expect.stringContaining("upgrade")]]);
  }
});

describe("beside a release that does not know of versions, a policy that it deletes and writes anew", () => {
  it("has none of the versions of the earlier one", async () => {
    for (const word of ["a", "b", "c"]) await write("anew", word);
    await alter(system(), "DELETE FROM policies WHERE name = 'anew'");
    expect(await stored("anew")).toEqual([]);
    for (const word of ["d", "e"]) await writeAs("anew", textOf(word), undefined);
    await write("anew", "f");
    expect(await numbers("anew")).toEqual([3, 2, 1]);
    expect((await show("anew", "?version=1")).body.data.policy).toBe(textOf("d"));
  });
});

describe("a version whose row was changed without the keys", () => {
  it("is left out and named in the log, and the others stay", async () => {
    for (const word of ["a", "b", "c"]) await write("forged", word);
    const lines = tamperingLines();
    await changeRows(system(), TABLE, { text: 'path "*" { capabilities = ["sudo"] }' }, { name: "forged", version: 2 });
    expect(await numbers("forged")).toEqual([3, 1]);
    expect((await show("forged", "?version=2")).status).toBe(404);
    expect(lines()).toEqual([expect.objectContaining({ kind: "policy version", row: '["forged",2]' })]);
    expect((await tidyNow()).tampered).toBe(1);
    await remove("forged");
  });

  it("is not taken for that of another policy", async () => {
    await write("mine", "mine");
    await write("mine", "mine too");
    await write("yours", "yours");
    const [row] = (await rowsOf(system(), TABLE)).filter(({ name, version }) => name === "mine" && version === 1);
    tamperingLines();
    await write("yours", "yours too");
    await alter(system(), "DELETE FROM policy_versions WHERE name = 'yours' AND version = 1");
    await insertRows(system(), TABLE, [{ ...row, name: "yours" }]);
    expect(await numbers("yours")).toEqual([2]);
    await remove("yours");
  });
});

it("a new term of the keys reseals the versions, and a backup brings them back", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await write("kept", "first");
  await write("kept", "second");
  expect((await call("PUT", "sys/rotate", { token: root })).status).toBe(204);
  vi.setSystemTime(Date.now() + 86_400_000);
  const sealOf = async () => (await rowsOf(system(), TABLE)).find(({ name }) => name === "kept")?.seal;
  const before = await sealOf();
  expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 0 });
  expect(await sealOf()).not.toEqual(before);
  const backup = await backUp(root);
  const listed = await versions("kept");
  await write("kept", "third");
  await loseEverything();
  await restore(backup);
  expect(await versions("kept")).toEqual(listed);
  expect((await show("kept", "?version=1")).body.data.policy).toBe(textOf("first"));
});
