import { describe, expect, it } from "vitest";
import type { EndedCheck, Receipt } from "../../../client/answers.d.ts";
import { checkFinding } from "../../../console/receipts/check-finding.ts";
import { countedBefore, keepCounted, NOT_COUNTED } from "../../../console/receipts/counted-before.ts";
import { cleaningText, endedText, isCutOff } from "../../../console/receipts/ended-text.ts";
import { leaseHeadline } from "../../../console/receipts/lease-headline.ts";
import { allEndedText, leaseSums, leaseText } from "../../../console/receipts/lease-sums.ts";
import { isCleaningUp } from "../../../console/receipts/read-revocation.ts";
import { MOST_PAGES, wholeCheck, wholeReceipt } from "../../../console/receipts/whole-receipt.ts";
import { done, failed } from "../../../console/result.ts";
import { MOST_NAMED, refusalOf } from "../../../console/tokens/selection.ts";
import { waysOf } from "../../../console/tokens/ways-back.ts";
import { MAX_NAMED_TOKENS } from "../../../src/base/limits.ts";

const NONE = { waiting: 0, failing: 0, removed: 0, more: false, failures: [] };

const receipt = (accessors: readonly string[], next: string): Receipt => ({
  job: "j1",
  state: "done",
  complete: true,
  asked_by: { accessor: "a0", display_name: "token-on-call", entity_id: "" },
  request_id: "r1",
  started: "2026-11-22T10:00:00Z",
  finished: "2026-11-22T10:00:01Z",
  filter: { policy: "old" },
  numbers: { matched: 1, total: 3, leases: { count: 4, more: false }, not_ended: 0 },
  not_ended: [],
  unrevoked_leases: NONE,
  accessors,
  next,
});

describe("the sentence about the leases of a revocation", () => {
  const leases = { count: 8, more: false };
  const check = { checked: 1080, ended: 1080, unknown: 0, alive: [], unanswered: [], unrevoked_leases: NONE, next: "" };
  const failing = { ...check, unrevoked_leases: { ...NONE, failing: 8 } };

  it("says of one lease that it has ended", () => {
    expect(allEndedText({ count: 1, more: false })).toBe("The only lease has ended");
    expect(allEndedText({ count: 1, more: true })).toBe("Leases: all 1+ have ended");
    expect(allEndedText(leases)).toBe("Leases: all 8 have ended");
  });

  it("says done only without leases, or when all are known to have ended", () => {
    const none = { count: 0, more: false };
    for (const state of ["checking", "failed", "not asked", check] as const)
      expect(leaseHeadline(none, 1080, state)).toEqual({ tone: "good", text: "Done." });
    expect(leaseHeadline(leases, 1080, check)).toEqual({ tone: "good", text: "Done." });
    // A token can have got a lease after the count.
    expect(leaseHeadline(none, 1080, failing).text).toMatch(/^But 8 of their leases have not ended/);
  });

  it.each([
    ["checking", "open", "Their 8 leases: being checked…"],
    ["not asked", "open", "Their 8 leases: not checked yet."],
    ["failed", "bad", "Their leases are not known: check again."],
    [failing, "bad", "But 8 of their leases have not ended: not accepted by their targets."],
    [{ ...check, ended: 900 }, "bad", "Their 8 leases: only those of 900 of 1,080 tokens were checked."],
    [{ ...check, next: "c1" }, "bad", "Their 8 leases: only those of 1,080 of 1,080 tokens were checked."],
  ] as const)("says what is not known, or left: %j", (state, tone, text) => {
    expect(leaseHeadline(leases, 1080, state)).toEqual({ tone, text });
  });
});

describe("the answer of the trees", () => {
  it.each([
    [{ checked: 3, ended: 2, alive: ["a"], next: "" }, 3, false, "bad", "1 token of 3 can be used"],
    [{ checked: 0, ended: 0, alive: [], next: "" }, 3, false, "warn", "None of them is named, so none was checked"],
    [{ checked: 3, ended: 3, alive: [], next: "" }, 3, false, "good", "All of these are refused: 3 of 3"],
    [{ checked: 4, ended: 4, alive: [], next: "" }, 3, true, "good", "All of these are refused: 4 tokens"],
    [
      { checked: 3, ended: 3, alive: [], next: "c" },
      3,
      true,
      "warn",
      "3 of 3 are refused; the others were not checked",
    ],
    [
      { checked: 2, ended: 2, alive: [], next: "" },
      3,
      false,
      "warn",
      "2 of 3 are refused; the others were not checked",
    ],
  ] as const)("is good only when all are refused: %j", (check, total, isLeast, tone, title) => {
    expect(checkFinding({ ...check, alive: [...check.alive] }, total, isLeast)).toMatchObject({ tone, title });
  });

  it("says that there may be more only while the clean-up names them", () => {
    const check = { checked: 4, ended: 4, alive: [], next: "" };
    const title = "All that the clean-up has named so far can no longer be used: 4 tokens";
    expect(checkFinding(check, 0, true, true).title).toBe(title);
    expect(checkFinding(check, 0, true, false).title).toBe("All of these are refused: 4 tokens");
  });
});

describe("the receipt of a revocation", () => {
  it("is the answer of the API with the accessors of all pages, empty ones too", async () => {
    const pages = new Map([
      ["", receipt(["a1"], "c1")],
      ["c1", receipt([], "c2")],
      ["c2", receipt(["a2", "a3"], "")],
    ]);
    const read: number[] = [];
    const whole = await wholeReceipt(
      async (after) => done(pages.get(after) ?? receipt(["wrong"], "")),
      (now) => read.push(now) > 0,
    );
    expect(whole).toEqual(done(receipt(["a1", "a2", "a3"], "")));
    expect(read).toEqual([1, 1, 3]);
  });

  it("says of itself what its first page says", async () => {
    const { complete: _, ...later } = receipt(["a2"], "");
    const whole = await wholeReceipt(
      async (after) => done(after === "" ? receipt(["a1"], "c1") : later),
      () => true,
    );
    expect(whole).toEqual(done(receipt(["a1", "a2"], "")));
  });

  it("stops after a bounded number of pages, and says where the next one begins", async () => {
    const whole = await wholeReceipt(
      async () => done(receipt(["a1"], "c1")),
      () => true,
    );
    expect(whole).toMatchObject({ value: { accessors: { length: MOST_PAGES }, next: "c1" } });
  });

  it("adds up what the trees say, page after page", async () => {
    const page = (alive: readonly string[], next: string): EndedCheck => ({
      checked: 4,
      ended: 3 - alive.length,
      unknown: 1,
      unanswered: [],
      alive,
      unrevoked_leases: {
        ...{ waiting: 1, failing: 1, removed: 1, more: next !== "" },
        failures: [{ lease_id: `db/${next}`, accessor: "a", error: "no", next_attempt: null }],
      },
      next,
    });
    const whole = await wholeCheck(
      async (after) => done(after === "" ? page(["a1"], "c1") : page([], "")),
      () => true,
    );
    expect(whole).toMatchObject({ value: { checked: 8, ended: 5, unknown: 2, alive: ["a1"], next: "" } });
    expect(whole).toMatchObject({
      value: { unrevoked_leases: { waiting: 2, failing: 2, removed: 2, failures: { length: 2 } } },
    });
    expect(whole).toMatchObject({ value: { unrevoked_leases: { more: true } } });
  });

  it("asks no more when the page is left, and is none when a page fails", async () => {
    const asked: string[] = [];
    const ask = async (after: string) => {
      asked.push(after);
      return after === "" ? done(receipt(["a1"], "c1")) : failed({ status: 503, messages: [], requestId: "" });
    };
    await wholeReceipt(ask, () => false);
    expect(asked).toEqual([""]);
    expect(await wholeReceipt(ask, () => true)).toMatchObject({ ok: false });
  });
});

it("more selected tokens than one request names are refused beforehand", () => {
  const named = (count: number) => ({ accessors: Array.from({ length: count }, (_, at) => `a${at}`) });
  expect(MOST_NAMED).toBe(MAX_NAMED_TOKENS);
  expect(refusalOf(named(MOST_NAMED))).toBe("");
  expect(refusalOf(named(MOST_NAMED + 1))).toMatch(/^900 tokens can be revoked at once/);
  expect(refusalOf({ policy: "web" })).toBe("");
});

describe("the leases of ended tokens", () => {
  const left = (waiting: number, failing: number, more = false) => ({
    ...{ waiting, failing, removed: 0, more, failures: [] },
  });
  const text = (count: number, rest: ReturnType<typeof left>) =>
    leaseText(leaseSums({ count, more: false }, rest, true));

  it("are each in one number, and the numbers add up", () => {
    expect(text(5, left(1, 2))).toBe("Leases: 5 in all: 2 ended, 1 waiting, 2 failing");
    const forced = { ...left(0, 1), removed: 1 };
    expect(text(2, forced)).toBe(
      "Leases: 2 in all: 0 ended, 0 waiting, 1 failing, 1 removed without its target's answer",
    );
    // More are left than were counted: a token got one in between.
    for (const counted of [0, 1, 2, 3]) {
      const { all, ended, waiting, failing } = leaseSums({ count: counted, more: false }, left(0, 2), true);
      expect((ended ?? 0) + waiting + failing).toBe(all);
      expect(all).toBe(Math.max(counted, 2));
    }
  });

  it("are no sum where not all were counted", () => {
    const expected = "Leases: 5 or more: 1 waiting, 2 failing, of the others it is not known";
    expect(text(5, left(1, 2, true))).toBe(expected);
    expect(leaseText(leaseSums({ count: 5, more: true }, left(1, 2), true))).toBe(expected);
    expect(leaseText(leaseSums({ count: 5, more: false }, left(1, 2), false))).toBe(expected);
  });
});

describe("the end of an entity's tokens", () => {
  it("has as many as are recorded, and before that as many as were counted", () => {
    const check = { checked: 9, next: "" };
    expect(endedText(check, { total: 12 }, false)).toBe("9 tokens");
    expect(endedText(check, null, true)).toBe("9 tokens or more");
    expect(endedText({ checked: 9, next: "c1" }, null, false)).toBe("9 tokens or more");
    expect(endedText({ checked: 0, next: "" }, { total: 12 }, true)).toBe("12 tokens");
    expect(endedText(null, null, true)).toBeNull();
  });

  it("has a second time only where that says more than the first", () => {
    expect(isCutOff("2026-11-22T10:00:00Z", "2026-11-22T10:00:06Z")).toBe(false);
    expect(isCutOff("2026-11-22T09:00:00Z", "2026-11-22T10:00:00Z")).toBe(true);
  });
});

describe("the ways back after a revocation", () => {
  const by = (mount: readonly string[], role: readonly string[]) => {
    const groups = (keys: readonly string[]) => keys.map((key) => ({ key, count: 1 }));
    return { mount: groups(mount), role: groups(role), owner: [], type: [] };
  };

  it("are the methods by which the tokens came, and the roles of the only one", () => {
    expect(waysOf(by(["auth/ci/"], ["deploy", ""]))).toEqual([
      { name: "auth/ci/", href: "/ui/methods/ci" },
      { name: "role deploy", href: "/ui/methods/ci?part=roles&name=deploy" },
    ]);
    expect(waysOf(by(["auth/ci/", "auth/token/"], ["deploy"])).map(({ href }) => href)).toEqual([
      "/ui/methods/ci",
      "/ui/methods/token",
    ]);
    expect(waysOf(by([""], [""]))).toEqual([]);
    expect(
      waysOf(
        by(
          ["auth/ci/"],
          Array.from({ length: 50 }, (_, at) => `r${at}`),
        ),
      ),
    ).toHaveLength(8);
  });
});

it("what was counted before each of the last requests is kept for its receipt", () => {
  const counted = (total: number) => ({ ...NOT_COUNTED, accessors: [`a${total}`] });
  for (let at = 0; at < 30; at++) keepCounted(`r${at}`, counted(at));
  expect(countedBefore("r29")).toEqual(counted(29));
  expect(countedBefore("r20")).toEqual(counted(20));
  expect(countedBefore("r0")).toBeNull();
});

describe("the clean-up of a revocation of many", () => {
  const revocation = {
    ...{ time: "", created_before: null, asked_by: null, request_id: "r1", request_path: "", tokens_seen: 5 },
    ...{ clean_up: "running", tokens_left: 0, clean_up_finished: null },
  };

  it("of a path goes on until the server says that it has ended, whatever its number", () => {
    const path = { ...revocation, prefix: "auth/ci/" };
    expect(isCleaningUp(path)).toBe(true);
    expect(cleaningText(path, true)).toBe("under way: the map may still have some of them");
    expect(isCleaningUp({ ...path, clean_up: "finished", tokens_left: 2 })).toBe(false);
    expect(cleaningText(path, false)).toBe("the map has none of them");
  });

  it("of an entity goes on while it has tokens on the map", () => {
    const entity = { ...revocation, entity_id: "e1", clean_up: "waits for tidy" };
    expect(isCleaningUp({ ...entity, tokens_left: 2 })).toBe(true);
    expect(cleaningText({ ...entity, tokens_left: 2 }, true)).toMatch("2 tokens still on the map");
    expect([isCleaningUp(entity), isCleaningUp({ ...entity, tokens_left: null })]).toEqual([false, false]);
  });
});
