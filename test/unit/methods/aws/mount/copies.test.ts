import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { StsRole } from "../../../../../src/methods/aws/clients/config.ts";
import {
  beginReading,
  type CopyOf,
  findCopy,
  forgetCopies,
  keepCopy,
} from "../../../../../src/methods/aws/mount/copies.ts";

const T0 = Date.parse("2026-11-01T10:00:00Z");
const STS_ROLE = { arn: "arn:aws:iam::111111111111:role/satellite", externalId: "" };
/** One whose object has answered, and goes on to. */
const ANSWERS = { renewalBegan: Number.NEGATIVE_INFINITY, troubleAt: Number.NEGATIVE_INFINITY };
const mount = (announced: number) => ({ mount: "mount", announced, maxAgeMs: 5_000, graceMs: 0, source: ANSWERS });
const partOf = (of: CopyOf, name: string, now: number) => findCopy(of, name, now)?.part.stsRole;
const useOf = (of: CopyOf, name: string, now: number) => findCopy(of, name, now)?.use;
/** Begins a read, and returns a function that keeps its answer. */
const begin = (of: CopyOf, name: string) => {
  const reading = beginReading();
  return (stsRole: StsRole | null | undefined, state: number) =>
    keepCopy(of, name, stsRole === undefined ? undefined : { stsRole }, state, reading);
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: T0 });
  forgetCopies();
});

afterEach(() => {
  vi.useRealTimers();
});

it("a copy of the announced state is good for a minute without asking", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  expect(partOf(mount(7), "111111111111", T0 + 59_999)).toEqual(STS_ROLE);
  expect(partOf(mount(7), "111111111111", T0 + 60_000)).toBeUndefined();
});

it("a copy of another state is good for POLICY_CACHE_SECONDS, whichever of both is newer", () => {
  for (const announced of [6, 8]) {
    begin(mount(announced), "111111111111")(STS_ROLE, 7);
    expect(partOf(mount(announced), "111111111111", T0 + 4_999)).toEqual(STS_ROLE);
    expect(partOf(mount(announced), "111111111111", T0 + 5_000)).toBeUndefined();
  }
});

it("a change ends its copies as soon as the isolate hears of it, if they are that old", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  expect(partOf(mount(7), "111111111111", T0 + 20_000)).toEqual(STS_ROLE);
  expect(partOf(mount(8), "111111111111", T0 + 20_000)).toBeUndefined();
});

it("with a POLICY_CACHE_SECONDS of 0 only copies of the announced state are used", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 6);
  expect(partOf({ ...mount(7), maxAgeMs: 0 }, "111111111111", T0)).toBeUndefined();
});

it("what was read while this isolate made a change is not kept, and a change drops what was kept", () => {
  const keep = begin(mount(7), "111111111111");
  forgetCopies();
  keep(STS_ROLE, 7);
  expect(partOf(mount(7), "111111111111", T0)).toBeUndefined();
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  forgetCopies();
  expect(partOf(mount(7), "111111111111", T0)).toBeUndefined();
});

it("an account without a role is remembered, and mounts and accounts do not mix", () => {
  begin(mount(7), "111111111111")(null, 7);
  expect(partOf(mount(7), "111111111111", T0)).toBeNull();
  expect(partOf(mount(7), "222222222222", T0)).toBeUndefined();
  expect(partOf({ ...mount(7), mount: "other" }, "111111111111", T0)).toBeUndefined();
});

it("a clock that went back makes a copy count as old", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  expect(partOf(mount(7), "111111111111", T0 - 1)).toBeUndefined();
});

it("a copy is read anew in the background before it is too old", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  expect(useOf(mount(7), "111111111111", T0 + 47_999)).toBe("use");
  expect(useOf(mount(7), "111111111111", T0 + 48_000)).toBe("renew");
  expect(useOf(mount(8), "111111111111", T0 + 4_000)).toBe("renew");
});

it("a copy is good for POLICY_GRACE_SECONDS more while its object does not answer", () => {
  const of = { ...mount(7), graceMs: 60_000 };
  begin(of, "111111111111")(STS_ROLE, 7);
  expect(useOf(of, "111111111111", T0 + 60_000)).toBe("try");
  expect(useOf(of, "111111111111", T0 + 119_999)).toBe("try");
  expect(useOf(of, "111111111111", T0 + 120_000)).toBeUndefined();
  // Once it was waited for in vain, nobody waits for a moment.
  const away = { ...of, source: { renewalBegan: T0 + 60_000, troubleAt: T0 + 61_000 } };
  expect(useOf(away, "111111111111", T0 + 62_000)).toBe("renew");
  expect(useOf(away, "111111111111", T0 + 63_000)).toBe("try");
});

it("a copy of before an announced change gets no grace, one of after it does", () => {
  const of = (announced: number) => ({ ...mount(announced), graceMs: 60_000 });
  begin(of(7), "111111111111")(STS_ROLE, 7);
  expect(useOf(of(8), "111111111111", T0 + 5_000)).toBeUndefined();
  expect(useOf(of(6), "111111111111", T0 + 5_000)).toBe("try");
  expect(useOf(of(6), "111111111111", T0 + 65_000)).toBeUndefined();
});

it("a copy of what is not there any more is dropped", () => {
  begin(mount(7), "111111111111")(STS_ROLE, 7);
  begin(mount(7), "111111111111")(undefined, 7);
  expect(useOf(mount(7), "111111111111", T0)).toBeUndefined();
});
