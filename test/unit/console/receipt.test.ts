import { describe, expect, it } from "vitest";
import type { EndedCheck, Receipt } from "../../../client/answers.d.ts";
import { MOST_PAGES, wholeCheck, wholeReceipt } from "../../../console/receipts/whole.ts";
import { done, failed } from "../../../console/result.ts";
import { MOST_NAMED, refusalOf } from "../../../console/tokens/model.ts";
import { MAX_NAMED_TOKENS } from "../../../src/base/limits.ts";

const NONE = { waiting: 0, failing: 0, more: false, failures: [] };

const receipt = (accessors: readonly string[], next: string): Receipt => ({
  job: "j1",
  state: "done",
  complete: true,
  asked_by: { accessor: "a0", display_name: "token-on-call", entity_id: "" },
  request_id: "r1",
  started: "2026-11-22T10:00:00Z",
  finished: "2026-11-22T10:00:01Z",
  filter: { policy: "old" },
  numbers: { matched: 1, total: 3, leases: { count: 4, more: false } },
  unrevoked_leases: NONE,
  accessors,
  next,
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
      alive,
      unrevoked_leases: {
        ...{ waiting: 1, failing: 1, more: false },
        failures: [{ lease_id: `db/${next}`, error: "no", next_attempt: null }],
      },
      next,
    });
    const whole = await wholeCheck(
      async (after) => done(after === "" ? page(["a1"], "c1") : page([], "")),
      () => true,
    );
    expect(whole).toMatchObject({ value: { checked: 8, ended: 5, unknown: 2, alive: ["a1"], next: "" } });
    expect(whole).toMatchObject({ value: { unrevoked_leases: { waiting: 2, failing: 2, failures: { length: 2 } } } });
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
