import { describe, expect, it } from "vitest";
import { judgeAudit } from "../../../../../src/api/sys/health/rules/audit.ts";
import { judgeBackups } from "../../../../../src/api/sys/health/rules/backups.ts";
import { judgeIssuer, judgeKeys, judgeSealKey } from "../../../../../src/api/sys/health/rules/keys.ts";
import { judgeLeases } from "../../../../../src/api/sys/health/rules/leases.ts";
import { judgeDisk, judgeObjects, unreadFinding } from "../../../../../src/api/sys/health/rules/objects-and-disk.ts";
import { judgeStorage } from "../../../../../src/api/sys/health/rules/put-back.ts";
import { judgeFaults, judgeQuotas } from "../../../../../src/api/sys/health/rules/requests.ts";
import { judgeClock, judgeNodes, judgeReleases } from "../../../../../src/api/sys/health/rules/servers.ts";
import { judgeLists, judgeTidy } from "../../../../../src/api/sys/health/rules/tidy-and-lists.ts";
import { judgeEndless, judgeRootTokens } from "../../../../../src/api/sys/health/rules/tokens.ts";
import type { StorageFaults } from "../../../../../src/base/storage-faults.ts";
import { NO_TRAFFIC, type Traffic } from "../../../../../src/metrics/traffic.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A disk without faults. */
const WELL: StorageFaults = { damaged: [], isFull: false, fullAt: null, oldData: null };

const slot = (traffic: Partial<Traffic>, at = NOW - HOUR) => ({
  at,
  traffic: { ...NO_TRAFFIC, ...traffic },
  live: null,
});

describe("the rule for backups", () => {
  const facts = { hasBucket: true, intervalMs: DAY, lastGoodAt: null, lastError: null, elsewhereAt: null };
  it.each([
    ["one in time", { lastGoodAt: NOW - DAY }, "ok"],
    ["a late one", { lastGoodAt: NOW - DAY - 4 * HOUR }, "attention"],
    ["one in time and a failure since", { lastGoodAt: NOW - 2 * HOUR, lastError: "no space" }, "attention"],
    ["a very old one", { lastGoodAt: NOW - 4 * DAY }, "failing"],
    ["none in its bucket yet", {}, "attention"],
    ["none in its bucket, and a failure", { lastError: "no space" }, "failing"],
    ["no bucket, and none over the API", { hasBucket: false }, "unknown"],
    ["no bucket, and one over the API", { hasBucket: false, elsewhereAt: NOW - 2 * HOUR }, "ok"],
    ["no bucket, and an old one over the API", { hasBucket: false, elsewhereAt: NOW - 9 * DAY }, "failing"],
  ])("of %s", (_, change, state) => {
    expect(judgeBackups({ ...facts, ...change }, NOW).state).toBe(state);
  });

  it("names the error of the last one", () => {
    const { seen } = judgeBackups({ ...facts, lastGoodAt: NOW - 2 * HOUR, lastError: "no space" }, NOW);
    expect(seen).toBe("the last good one was begun 2 h ago, one is due every 24 h; the last one failed: no space");
  });
});

describe("the rule for nodes", () => {
  const node = (name: string, ago: number) => ({ name, release: "1", seenAt: NOW - ago });
  it.each([
    ["three", [node("a", 0), node("b", 90_000), node("c", 180_000)], "ok"],
    ["two", [node("a", 0), node("b", 0)], "attention"],
    ["a silent one", [node("a", 0), node("b", 0), node("c", 180_001)], "failing"],
    ["none yet", [], "unknown"],
  ])("of %s", (_, nodes, state) => {
    expect(judgeNodes(nodes, NOW).state).toBe(state);
  });

  it("names the silent one", () => {
    expect(judgeNodes([node("a", 0), node("b:1", HOUR)], NOW).seen).toBe("1 up; missing: b:1 (silent for 60 min)");
  });
});

describe("the rule for keys", () => {
  const facts = { term: 3, installedAt: NOW - 9 * DAY, kept: 3, isAutomatic: true, interval: 0 };
  it.each([
    ["any age without an interval", {}, "ok"],
    ["an interval that is not over", { interval: (9 * DAY) / 1000 }, "ok"],
    ["an interval that was over two days ago", { interval: (7 * DAY) / 1000 }, "attention"],
    ["the same, not automatic", { interval: (7 * DAY) / 1000, isAutomatic: false }, "ok"],
    ["nearly all terms", { kept: 14 }, "attention"],
  ])("of %s", (_, change, state) => {
    expect(judgeKeys({ ...facts, ...change }, NOW).state).toBe(state);
  });

  it("wants the previous seal key gone after a rotation", () => {
    expect([judgeSealKey(2, 2, false).state, judgeSealKey(2, 2, true).state]).toEqual(["ok", "attention"]);
    expect(judgeSealKey(2, 2, true).advice).toContain("remove GROVE_SEAL_KEY_PREVIOUS");
    for (const current of [2, null])
      expect(judgeSealKey(1, current, true).advice).toMatch(/^Keep GROVE_SEAL_KEY_PREVIOUS/);
  });

  it.each([
    [null, "ok"],
    [NOW + DAY, "ok"],
    [NOW - HOUR, "ok"],
    [NOW - HOUR - 1, "failing"],
  ])("of the issuer, whose next rotation is %s", (rotation, state) => {
    expect(judgeIssuer(rotation, NOW).state).toBe(state);
  });
});

describe("the rule for the disk", () => {
  const damaged = { ...WELL, damaged: ["TokenTree/0a.sqlite"] };
  const full = { ...WELL, isFull: true, fullAt: NOW - 2 * DAY };
  it.each([
    ["nothing", WELL, "ok", ""],
    ["a damaged database", damaged, "failing", "docs/runbook.md#a-database-is-damaged"],
    ["a full disk", full, "failing", "docs/runbook.md#the-disk-is-full"],
    ["a disk that was full", { ...WELL, fullAt: NOW - HOUR }, "attention", "docs/runbook.md#the-disk-is-full"],
    ["a disk that was full two days ago", { ...WELL, fullAt: NOW - 2 * DAY }, "ok", ""],
  ])("of %s", (_, disk, state, link) => {
    expect(judgeDisk(disk, NOW)).toMatchObject({ state, link });
  });

  it("names the damaged file, and both faults", () => {
    expect(judgeDisk({ ...damaged, isFull: true }, NOW).seen).toBe(
      "the disk is full: writes fail; damaged below objects/: TokenTree/0a.sqlite",
    );
  });

  it.each([
    ["no answer", (disk: StorageFaults) => judgeObjects(["tidy"], disk)],
    ["503s", (disk: StorageFaults) => judgeFaults([slot({ unavailable: 1 })], disk)],
    ["facts that can't be read", (disk: StorageFaults) => unreadFinding(disk)],
  ])("is the cause of %s, and leads to its own section", (_, judge) => {
    const links = [WELL, damaged, full].map((disk) => judge(disk).link);
    expect(links).toEqual([
      "docs/runbook.md#an-object-is-overloaded",
      "docs/runbook.md#a-database-is-damaged",
      "docs/runbook.md#the-disk-is-full",
    ]);
  });
});

it.each([
  ["a damaged database", { damaged: ["TokenTree/a.sqlite"] }, "one whose database is damaged does not"],
  ["a full disk", { isFull: true }, "each that has to write, may not"],
])("with %s no object that was not asked is said to answer", (_, faults, said) => {
  const finding = judgeObjects([], { ...WELL, ...faults });
  expect([finding.state, finding.seen]).toEqual(["attention", expect.stringContaining(said)]);
});

describe("the rules for a day", () => {
  it.each([
    ["no request", [], "ok"],
    ["good answers", [slot({ requests: 9 })], "ok"],
    ["a 503", [slot({ requests: 9, unavailable: 1 })], "attention"],
    ["a 500", [slot({ requests: 9, unavailable: 1 }), slot({ faults: 1 })], "failing"],
  ])("of faults: %s", (_, day, state) => {
    expect(judgeFaults(day, WELL).state).toBe(state);
  });

  it("says when the last 500 was", () => {
    const day = [slot({ faults: 2 }, NOW - 2 * HOUR), slot({ faults: 1, requests: 7 }, NOW - HOUR), slot({}, NOW)];
    expect(judgeFaults(day, WELL).seen).toBe(
      "3 answers 500 and 0 answers 503 of about 7 in a day, the last 500 after 11:00 UTC",
    );
  });

  it.each([
    ["a few refusals", 1, true, "ok"],
    ["more than a hundredth", 11, true, "attention"],
    ["health checks that are counted", 0, false, "attention"],
  ])("of quotas: %s", (_, limited, isExempt, state) => {
    expect(judgeQuotas([slot({ requests: 1000, limited })], isExempt).state).toBe(state);
  });
});

describe("the other rules", () => {
  it("are about clocks that differ by more than half a minute", () => {
    const stateAt = (client: number | null) => judgeClock(NOW, client).state;
    expect([null, NOW, NOW - 30_000, NOW + 30_001].map(stateAt)).toEqual(["unknown", "ok", "ok", "attention"]);
    expect(judgeClock(NOW, NOW + 90_000).seen).toBe("90 s behind that of the client");
  });

  it("are about releases that run beside each other", () => {
    expect(judgeReleases("1", ["1", "1"]).state).toBe("ok");
    expect(judgeReleases("1", ["1", "0"])).toMatchObject({
      state: "attention",
      seen: "1 answered, and 0 runs too",
    });
  });

  it.each([
    [{ lastAt: NOW - HOUR, failures: 0, tampered: 0 }, "ok"],
    [{ lastAt: NOW - HOUR, failures: 1, tampered: 0 }, "attention"],
    [{ lastAt: NOW - 4 * HOUR, failures: 0, tampered: 0 }, "attention"],
    [{ lastAt: NOW - HOUR, failures: 0, tampered: 1 }, "failing"],
    [{ lastAt: null, failures: 0, tampered: 0 }, "unknown"],
  ])("are about tidy: %j", (facts, state) => {
    expect(judgeTidy(facts, NOW).state).toBe(state);
  });

  it.each([
    [{ revived: 0, since: NOW, system: [] }, "ok"],
    [{ revived: 2, since: NOW, system: [] }, "failing"],
    [{ revived: 2, since: null, system: [] }, "failing"],
    [{ revived: 0, since: null, system: [] }, "unknown"],
    [{ revived: 0, since: null, system: [{ at: NOW - 100 * HOUR, from: 7, to: 3 }] }, "failing"],
    [{ revived: 0, since: NOW, system: [{ at: NOW - HOUR, from: null, to: 3 }] }, "failing"],
    [{ revived: 0, since: NOW, system: [{ at: NOW - 200 * HOUR, from: 7, to: 3 }] }, "attention"],
  ])("are about storage that was put back: %j", (facts, state) => {
    expect(judgeStorage({ old: null, isRevokedSince: false, ...facts }, NOW).state).toBe(state);
  });

  it.each([
    [true, "the data are a copy, last served 3 h ago"],
    [false, "the data were not in use for a while, last served 3 h ago"],
  ])("are about data that may be a restored backup: a copy %s", (isCopy, seen) => {
    const facts = { revived: 0, since: NOW, system: [], old: { isCopy, servedAt: NOW - 3 * HOUR } };
    const finding = judgeStorage({ ...facts, isRevokedSince: false }, NOW);
    expect(finding).toMatchObject({ state: "attention", link: "docs/runbook.md#restore" });
    expect(finding.seen).toContain(seen);
    expect(judgeStorage({ ...facts, isRevokedSince: true }, NOW).state).toBe("ok");
  });

  it("name both what was put back of trees and of the System object", () => {
    const system = [{ at: Date.UTC(2026, 0, 2, 3, 4), from: 7, to: 3 }];
    const { seen } = judgeStorage({ revived: 1, since: NOW, system, old: null, isRevokedSince: false }, NOW);
    expect(seen).toContain("1 tokens that had ended are alive again");
    expect(seen).toContain("at 2026-01-02T03:04Z the System object was found put back");
  });

  it.each([
    [{ since: NOW - HOUR, failures: 0 }, "ok"],
    [{ since: NOW - HOUR, failures: 2 }, "attention"],
    [{ since: NOW - 25 * HOUR, failures: 0 }, "attention"],
    [{ since: null, failures: 0 }, "unknown"],
  ])("are about lists: %j", (facts, state) => {
    expect(judgeLists({ checked: 1, shards: 16, ...facts }, NOW).state).toBe(state);
  });

  it("are about root tokens and others that never end", () => {
    const facts = { root: 1, endlessRoot: 0, more: false, endless: 0, total: 9 };
    expect(judgeRootTokens(facts)).toMatchObject({ state: "ok", seen: "1, which ends" });
    const seen = (root: number, endlessRoot: number, more = false) =>
      judgeRootTokens({ ...facts, root, endlessRoot, more }).seen;
    expect([seen(2, 0), seen(1, 1), seen(2, 1), seen(3, 2)]).toEqual([
      ...["2, all of which end", "1, which never ends", "2, of which 1 never ends", "3, of which 2 never end"],
    ]);
    expect(judgeEndless({ ...facts, endless: 1 }).seen).toBe("of 9 tokens 1 never ends");
    expect(judgeRootTokens({ ...facts, endlessRoot: 1 }).state).toBe("attention");
    expect(judgeEndless({ ...facts, endless: 1, endlessRoot: 1 }).state).toBe("ok");
    expect(judgeEndless({ ...facts, endless: 2, endlessRoot: 1 }).state).toBe("attention");
  });

  it.each([
    [{ isStored: true, waiting: 0, dropped: 0 }, "ok"],
    [{ isStored: true, waiting: 201, dropped: 0 }, "attention"],
    [{ isStored: true, waiting: 0, dropped: 1 }, "failing"],
    [{ isStored: true, waiting: 0, dropped: 0, lost: ["0/1"] }, "failing"],
    [{ isStored: true, waiting: 3, dropped: 0, since: NOW }, "failing"],
    [{ isStored: true, waiting: 0, dropped: 0, notes: [{ since: NOW, most: 100 }] }, "failing"],
    [{ isStored: false, waiting: 0, dropped: 0 }, "unknown"],
  ])("are about the audit store: %j", (facts, state) => {
    expect(judgeAudit({ lost: [], since: null, notes: [], ...facts }).state).toBe(state);
  });

  it("are about irrevocable leases and objects that do not answer", () => {
    const judge = (irrevocable: number, retried: number, more = false) =>
      judgeLeases(irrevocable, { retried, looked: 900, more });
    const leases = [judge(0, 0), judge(0, 2), judge(1, 0), judge(1, 2)];
    expect(leases.map(({ state }) => state)).toEqual(["ok", "attention", "failing", "failing"]);
    expect(leases[1]?.seen).toMatch(/^2 that ended are not accepted by their targets, and tried again/);
    expect(leases[3]?.seen).toMatch(/; 2 that ended/);
    const partly = [judge(0, 0, true), judge(0, 2, true), judge(1, 0, true)];
    expect(partly.map(({ state }) => state)).toEqual(["unknown", "attention", "failing"]);
    expect(partly[0]?.seen).toContain("900 of the tokens that ended lately were looked at; more ended");
    expect(partly[1]?.seen).toMatch(/^at least 2 that ended/);
    expect([judgeObjects([], WELL).state, judgeObjects(["tidy"], WELL).state]).toEqual(["ok", "failing"]);
    const all = Array.from({ length: 16 }, (_, at) => `shard ${at}`);
    expect(judgeObjects(all, WELL).seen).toBe("no answer from shard 0, shard 1, shard 2, shard 3 and 12 others");
  });
});
