import { beforeEach, expect, it } from "vitest";
import { beginReading, copyOf, forgetCopies, keepCopy } from "../../../../../src/methods/cloud/config/copies.ts";

const T0 = Date.parse("2026-11-01T10:00:00Z");
const STS_ROLE = { arn: "arn:aws:iam::111111111111:role/satellite", externalId: "" };
const mount = (announced: number) => ({ object: "mount", announced, maxAgeMs: 5_000 });

beforeEach(() => forgetCopies());

it("a copy of the announced state is good for a minute without asking", () => {
  keepCopy(mount(7), "sts", "111111111111", STS_ROLE, 7, beginReading(T0));
  expect(copyOf(mount(7), "sts", "111111111111", T0 + 59_999)).toEqual(STS_ROLE);
  expect(copyOf(mount(7), "sts", "111111111111", T0 + 60_000)).toBeUndefined();
});

it("a copy of another state is good for POLICY_CACHE_SECONDS, whichever of both is newer", () => {
  for (const announced of [6, 8]) {
    keepCopy(mount(announced), "sts", "111111111111", STS_ROLE, 7, beginReading(T0));
    expect(copyOf(mount(announced), "sts", "111111111111", T0 + 4_999)).toEqual(STS_ROLE);
    expect(copyOf(mount(announced), "sts", "111111111111", T0 + 5_000)).toBeUndefined();
  }
});

it("a change ends its copies as soon as the isolate hears of it, if they are that old", () => {
  keepCopy(mount(7), "sts", "111111111111", STS_ROLE, 7, beginReading(T0));
  expect(copyOf(mount(7), "sts", "111111111111", T0 + 20_000)).toEqual(STS_ROLE);
  expect(copyOf(mount(8), "sts", "111111111111", T0 + 20_000)).toBeUndefined();
});

it("with a POLICY_CACHE_SECONDS of 0 only copies of the announced state are used", () => {
  keepCopy({ ...mount(7), maxAgeMs: 0 }, "sts", "111111111111", STS_ROLE, 6, beginReading(T0));
  expect(copyOf({ ...mount(7), maxAgeMs: 0 }, "sts", "111111111111", T0)).toBeUndefined();
});

it("what was read while this isolate made a change is not kept, and a change drops what was kept", () => {
  const reading = beginReading(T0);
  forgetCopies();
  keepCopy(mount(7), "sts", "111111111111", STS_ROLE, 7, reading);
  expect(copyOf(mount(7), "sts", "111111111111", T0)).toBeUndefined();
  keepCopy(mount(7), "sts", "111111111111", STS_ROLE, 7, beginReading(T0));
  forgetCopies();
  expect(copyOf(mount(7), "sts", "111111111111", T0)).toBeUndefined();
});

it("an account without a role is remembered, and mounts, accounts and kinds of parts do not mix", () => {
  keepCopy(mount(7), "sts", "111111111111", null, 7, beginReading(T0));
  expect(copyOf(mount(7), "sts", "111111111111", T0)).toBeNull();
  expect(copyOf(mount(7), "sts", "222222222222", T0)).toBeUndefined();
  expect(copyOf(mount(7), "role", "111111111111", T0)).toBeUndefined();
  expect(copyOf({ ...mount(7), object: "other" }, "sts", "111111111111", T0)).toBeUndefined();
});

it("a clock that went back makes a copy count as old", () => {
  keepCopy(mount(7), "sts", "111111111111", STS_ROLE, 7, beginReading(T0));
  expect(copyOf(mount(7), "sts", "111111111111", T0 - 1)).toBeUndefined();
});
