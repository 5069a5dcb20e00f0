import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import { loadInstallation, refreshInstallation } from "../../../src/system/installation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { bindings, call, initialized } from "../../support/service.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

let root: string;

beforeAll(async () => {
  root = await initialized();
});

it("a refresh that was asked before a change and answered after it does not bring the old state back", async () => {
  await refreshInstallation(bindings);
  /** Says that nothing is new, as was true when it was asked; on the way back somebody else writes and refreshes. */
  const slow = {
    async snapshot() {
      const content = { text: "", rulesJson: "[]" };
      const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
      await systemOf(bindings).writePolicy("late", { content, ...settings }, Date.now());
      await refreshInstallation(bindings);
      return null;
    },
  };
  await refreshInstallation({ ...bindings, SYSTEM: { getByName: () => slow } as unknown as Env["SYSTEM"] });
  const loaded = await loadInstallation(bindings);
  expect(loaded.ok && loaded.value.hasPolicy("late", Date.now())).toBe(true);
});

it("of many requests at once one reads the copy anew before it is too old, and nobody uses one that is", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const asked = vi.spyOn(System.prototype, "snapshot");
  const askedBy = async (requests: number) => {
    asked.mockClear();
    await Promise.all(Array.from({ length: requests }, () => call("GET", "auth/token/lookup-self", { token: root })));
    return asked.mock.calls.length;
  };
  const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
  await refreshInstallation(bindings);
  expect(await askedBy(30)).toBe(0);
  later(3_900);
  expect(await askedBy(30)).toBe(0);
  later(200);
  expect(await askedBy(30)).toBe(1);
  expect(await askedBy(30)).toBe(0);

  // The one that asks is lost: the others go on, and another one asks a moment later.
  later(4_100);
  asked.mockRejectedValueOnce(new Error("gone"));
  await expect(loadInstallation(bindings)).rejects.toThrow("gone");
  expect(await askedBy(30)).toBe(0);
  later(501);
  expect(await askedBy(30)).toBe(1);

  later(5_000);
  expect(await askedBy(1)).toBe(1);
});

it("a copy is not taken for that of a restored object that has since changed as often as before", async () => {
  const system = systemOf(bindings);
  const write = (name: string) => {
    const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
    return system.writePolicy(name, { content: { text: "", rulesJson: "[]" }, ...settings }, Date.now());
  };
  const installation = await runInDurableObject(system, (_, { storage }) =>
    storage.sql.exec<{ version: number }>("SELECT version FROM installation").one(),
  );
  await write("lost-1");
  await write("lost-2");
  await refreshInstallation(bindings);

  await runInDurableObject(system, (_, { storage: { sql } }) => {
    sql.exec("DELETE FROM policies WHERE name LIKE 'lost-%'");
    sql.exec("UPDATE installation SET version = ?", installation.version);
  });
  await write("after-1");
  await write("after-2");
  const refreshed = await refreshInstallation(bindings);
  const loaded = await loadInstallation(bindings);
  for (const known of [refreshed, loaded]) {
    const names = ["lost-1", "lost-2", "after-1", "after-2"];
    expect(names.map((name) => known.ok && known.value.hasPolicy(name, Date.now()))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  }
});
