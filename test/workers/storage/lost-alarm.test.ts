import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tidyOf } from "../../../src/tidy/tidy.ts";
import { bindings, initialized } from "../../support/service.ts";
import { holdTidy } from "../../support/tidy.ts";

beforeEach(holdTidy);
afterEach(() => void vi.useRealTimers());

it("an alarm that does not ring is set again by a call that opens the keys of the object", async () => {
  await initialized();
  const object = tidyOf(bindings);
  const alarmAt = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  // Ahead of the platform's clock, so that no alarm goes off by itself.
  const now = Date.now() + 600_000;
  vi.useFakeTimers({ toFake: ["Date"], now });
  await object.start();
  expect(await alarmAt()).toBe(now);
  await runInDurableObject(object, (_, { storage }) => storage.deleteAlarm());
  await object.systemPutBack();
  expect(await alarmAt()).toBeNull();
  vi.setSystemTime(now + 61_000);
  await object.systemPutBack();
  expect(await alarmAt()).toBe(now + 61_000);
});
