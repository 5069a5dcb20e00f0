import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { forgetCopies, stsRoleCopies } from "../../../../../src/methods/aws/mount/login-settings.ts";
import { policyOfCopies } from "../../../../../src/methods/config-copies.ts";

const T0 = Date.parse("2026-11-01T10:00:00Z");
const COPIED = { part: { arn: "arn:aws:iam::111111111111:role/satellite", externalId: "" }, state: 7 };
const KEY = "mount 111111111111";
const LIMITS = { maxAgeMs: 5_000, graceMs: 60_000 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: T0 });
  forgetCopies();
});

afterEach(() => {
  vi.useRealTimers();
});

it.each([
  ["the announced state is good for a minute", 7, 60_000, 60_000],
  ["an older state is good for POLICY_CACHE_SECONDS, and gets no grace", 8, 5_000, 0],
  ["a newer state is good for POLICY_CACHE_SECONDS, and gets a grace", 6, 5_000, 60_000],
])("a copy of %s", (_, announced, maxAgeMs, graceMs) => {
  expect(policyOfCopies(announced, LIMITS)(COPIED)).toEqual({ maxAgeMs, graceMs });
});

it("what has no copy yet is read by one request for those of POLICY_CACHE_SECONDS", () => {
  expect(policyOfCopies(0, LIMITS)()).toEqual({ maxAgeMs: 5_000, graceMs: 0 });
});

it("with a POLICY_CACHE_SECONDS of 0 only copies of the announced state are used", async () => {
  const policy = (announced: number) => policyOfCopies(announced, { maxAgeMs: 0, graceMs: 0 });
  await stsRoleCopies.load(KEY, policy(7), async () => COPIED);
  const other = { part: null, state: 8 };
  expect(await stsRoleCopies.load(KEY, policy(7), async () => other)).toBe(COPIED);
  expect(await stsRoleCopies.load(KEY, policy(8), async () => other)).toBe(other);
});

it("a change ends its copies as soon as the isolate is notified of it, if they are that old", async () => {
  await stsRoleCopies.load(KEY, policyOfCopies(7, LIMITS), async () => COPIED);
  vi.setSystemTime(T0 + 20_000);
  const changed = { part: null, state: 8 };
  expect(await stsRoleCopies.load(KEY, policyOfCopies(7, LIMITS), async () => changed)).toBe(COPIED);
  expect(await stsRoleCopies.load(KEY, policyOfCopies(8, LIMITS), async () => changed)).toBe(changed);
});

it("a change of this isolate drops what was kept, and what is being read is not kept", async () => {
  const policy = policyOfCopies(7, LIMITS);
  await stsRoleCopies.load(KEY, policy, async () => COPIED);
  const { promise, resolve } = Promise.withResolvers<typeof COPIED>();
  forgetCopies();
  const reading = stsRoleCopies.load(KEY, policy, () => promise);
  forgetCopies();
  resolve(COPIED);
  await reading;
  expect(stsRoleCopies.copied(KEY)).toBeUndefined();
});
