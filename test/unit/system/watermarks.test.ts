import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  covers,
  entityScope,
  indexWatermarks,
  isEnded,
  isEndedSince,
  isSuperseded,
  type JudgedToken,
  pathScope,
  sinceScope,
  type Watermark,
  type WatermarkScope,
} from "../../../src/system/watermarks.ts";

const TOKEN: JudgedToken = { path: "auth/a/login", leased: true, entityId: "e-1", createdAt: 1000 };

function mark(fields: Partial<Watermark> & { scope: WatermarkScope }): Watermark {
  return { number: 10, createdBefore: null, cleaned: false, ...fields };
}

/** @param newest the newest that is known; absent: the watermark itself. */
function ended(watermark: Watermark, token: Partial<JudgedToken> = {}, newest = watermark.number): boolean {
  return isEnded(indexWatermarks([watermark], newest), "all", { ...TOKEN, ...token });
}

describe("a watermark", () => {
  it.each([
    ["auth/", true],
    ["auth/a/", true],
    ["auth/a/login/", true],
    ["auth/a/log/", false],
    ["auth/a/login/deeper/", false],
    ["auth/ab/", false],
  ])("of the prefix %s means whole segments", (prefix, expected) => {
    expect(ended(mark({ scope: pathScope(prefix) }))).toBe(expected);
  });

  it("of a prefix means no token without a lease: the first root token is never reached", () => {
    expect(ended(mark({ scope: pathScope("auth/") }), { leased: false })).toBe(false);
  });

  it("of an entity ends its tokens, whatever made them, and no others", () => {
    expect(ended(mark({ scope: entityScope("e-1") }))).toBe(true);
    expect(ended(mark({ scope: entityScope("e-2") }))).toBe(false);
    expect(ended(mark({ scope: entityScope("") }), { entityId: "" })).toBe(false);
  });

  it("ends what was made by somebody who did not know it, and nothing that was made above it, within one millisecond too", () => {
    const scope = pathScope("auth/a/");
    expect(ended(mark({ scope, number: 10 }), { watermark: 9 })).toBe(true);
    expect(ended(mark({ scope, number: 10 }), { watermark: 10 })).toBe(false);
    expect(ended(mark({ scope, number: 10 }), { watermark: 11 })).toBe(false);
  });

  it("for a time in the past spares what was created since", () => {
    const scope = entityScope("e-1");
    expect(ended(mark({ scope, createdBefore: 1000 }))).toBe(false);
    expect(ended(mark({ scope, createdBefore: 1001 }))).toBe(true);
  });

  it("from a moment on ends what was created then or later, without a lease too, and spares what was made above it", () => {
    const since = mark({ scope: sinceScope(1000), number: 2000 });
    expect(ended(since, { createdAt: 999 })).toBe(false);
    expect(ended(since, { createdAt: 1000 })).toBe(true);
    expect(ended(since, { createdAt: 1000, leased: false, entityId: "" })).toBe(true);
    expect(ended(since, { createdAt: 2500, watermark: 2000 })).toBe(false);
    // Another moment is another watermark, and both count.
    const two = indexWatermarks([since, mark({ scope: sinceScope(500), number: 600 })], 2000);
    const at = (createdAt: number) => isEnded(two, "all", { ...TOKEN, createdAt });
    expect([499, 500, 999, 1000].map(at)).toEqual([false, true, true, true]);
    // A token that names no watermark is meant until the watermark was made.
    expect([499, 500, 600, 999, 1000, 1999, 2000].map((time) => isEndedSince(two, time))).toEqual([
      false,
      true,
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it("ends a token whose number no watermark can have had when it was made", () => {
    const scope = pathScope("auth/a/");
    const day = 86_400_000;
    expect(ended(mark({ scope }), { watermark: Number.MAX_SAFE_INTEGER })).toBe(true);
    expect(ended(mark({ scope }), { watermark: TOKEN.createdAt + day + 1 })).toBe(true);
    // One that this isolate does not know yet has about the time as its number.
    expect(ended(mark({ scope }), { watermark: TOKEN.createdAt + day })).toBe(false);
    // The clock was ahead when the newest was made: every number since is above it.
    const ahead = TOKEN.createdAt + 400 * day;
    expect(ended(mark({ scope }), { watermark: ahead }, ahead)).toBe(false);
    expect(ended(mark({ scope }), { watermark: ahead + day + 1 }, ahead)).toBe(true);
  });

  it("spares a token that was made above the next watermark, which this isolate does not know yet, after a clock was ahead", () => {
    const ahead = TOKEN.createdAt + 400 * 86_400_000;
    expect(ended(mark({ scope: pathScope("auth/a/") }), { watermark: ahead + 1 }, ahead)).toBe(false);
  });

  it("that is cleaned is not asked about what a tree stores", () => {
    const { all, open } = indexWatermarks([mark({ scope: pathScope("auth/"), cleaned: true })], 10);
    expect([all.size, open.size]).toEqual([1, 0]);
  });
});

/** A moment in ms. */
const moment = fc.integer({ min: 1, max: 50 });
const createdBefore = fc.option(moment, { nil: null });

/** What a watermark that is made at `madeAt` for `before` ends, of tokens that were created by a clock that does not lie. */
function endedAt(madeAt: number, before: number | null, createdAt: number): boolean {
  return createdAt < madeAt && (before === null || createdAt < before);
}

describe("two watermarks of one scope", () => {
  it("the second is not needed when the first covers it", () => {
    fc.assert(
      fc.property(moment, moment, createdBefore, createdBefore, moment, (a, gap, first, second, createdAt) => {
        const madeAt = a;
        const later = a + gap;
        fc.pre(first === null || first <= madeAt);
        fc.pre(second === null || second <= later);
        if (!covers({ createdBefore: first, madeAt }, second)) return;
        if (endedAt(later, second, createdAt)) expect(endedAt(madeAt, first, createdAt)).toBe(true);
      }),
    );
  });

  it("the second is not needed when it ends exactly as much, whatever its time", () => {
    expect(covers({ createdBefore: 5, madeAt: 9 }, 5)).toBe(true);
    expect(covers({ createdBefore: null, madeAt: 9 }, 9)).toBe(true);
    expect(covers({ createdBefore: 5, madeAt: 9 }, 6)).toBe(false);
  });

  it("the first is not needed when the second supersedes it", () => {
    fc.assert(
      fc.property(moment, moment, createdBefore, createdBefore, moment, (a, gap, first, second, createdAt) => {
        if (!isSuperseded(first, second)) return;
        if (endedAt(a, first, createdAt)) expect(endedAt(a + gap, second, createdAt)).toBe(true);
      }),
    );
  });
});
