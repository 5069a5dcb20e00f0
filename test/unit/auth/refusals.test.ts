import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  INTERVAL_MS,
  MAX_REFUSALS,
  REFUSALS_VIEW,
  type RefusedLogin,
  timeToWait,
  withRefusals,
} from "../../../src/auth/refused-logins.ts";

const refusal = ({ lastAt = 1000, ...fields }: Partial<RefusedLogin> = {}): RefusedLogin => ({
  ...{ role: "ci", check: "signature", description: "", proven: false, count: 1, lastAddress: null },
  ...{ firstAt: lastAt, lastAt },
  ...fields,
});

const anyRefusal = fc
  .record({
    role: fc.constantFrom("ci", "web", null),
    check: fc.integer({ min: 0, max: 60 }).map((n) => `check ${n}`),
    proven: fc.boolean(),
    count: fc.integer({ min: 1, max: 9 }),
    lastAt: fc.integer({ min: 0, max: 1000 }),
  })
  .map(refusal);

describe("refused logins", () => {
  it("of one role and check are one row, with the last address and the first time", () => {
    const first = refusal({ lastAt: 1000, lastAddress: "192.0.2.1" });
    const second = refusal({ lastAt: 2000, lastAddress: "192.0.2.2" });
    const joined = [refusal({ count: 2, firstAt: 1000, lastAt: 2000, lastAddress: "192.0.2.2" })];
    expect(withRefusals([first], [second])).toEqual(joined);
    expect(withRefusals([second], [first])).toEqual(joined);
    expect(withRefusals([first], [refusal({ role: null })])).toHaveLength(2);
  });

  it("are bounded, and none is lost below the bound", () => {
    const sum = (some: readonly RefusedLogin[]) => some.reduce((total, { count }) => total + count, 0);
    fc.assert(
      fc.property(fc.array(anyRefusal, { maxLength: 200 }), fc.nat(200), (all, cut) => {
        const rows = withRefusals(withRefusals([], all.slice(0, cut)), all.slice(cut));
        expect(rows.length).toBeLessThanOrEqual(MAX_REFUSALS);
        if (rows.length < MAX_REFUSALS) expect(sum(rows)).toBe(sum(all));
      }),
    );
  });

  it("of clients that proved who they are stay, however many strangers are refused", () => {
    const proven = Array.from({ length: 10 }, (_, at) => refusal({ check: `claim ${at}`, proven: true, lastAt: at }));
    const strangers = Array.from({ length: 500 }, (_, at) => refusal({ role: `role ${at}`, lastAt: 9_000 + at }));
    const rows = strangers.reduce<readonly RefusedLogin[]>((known, one) => withRefusals(known, [one]), proven);
    expect(rows.filter((one) => one.proven)).toHaveLength(10);
    expect(rows.some(({ role }) => role === "role 499")).toBe(true);
    expect(rows.some(({ role }) => role === "role 0")).toBe(false);
  });

  it("are shown with the last one first", () => {
    const rows = [refusal({ lastAt: 0 }), refusal({ check: "bound_region", proven: true, lastAt: 5000 })];
    expect(REFUSALS_VIEW.show({ refusals: rows, nameOf: (check) => check.toUpperCase() })).toMatchObject({
      refused: [
        { check: "BOUND_REGION", last_time: "1970-01-01T00:00:05.000Z" },
        { check: "SIGNATURE", first_time: "1970-01-01T00:00:00.000Z", count: 1, last_address: null },
      ],
    });
  });
});

it("the next write waits no longer than the interval, whatever the clock does", () => {
  expect(timeToWait(Number.NEGATIVE_INFINITY, 0)).toBe(0);
  expect(timeToWait(1000, 1000)).toBe(INTERVAL_MS);
  expect(timeToWait(1000, 2000)).toBe(INTERVAL_MS - 1000);
  expect(timeToWait(1000, 1000 + INTERVAL_MS)).toBe(0);
  expect(timeToWait(1e12, 0)).toBe(INTERVAL_MS);
});
