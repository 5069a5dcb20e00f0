import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { LeaseWalk } from "../../src/app/lease-walk.ts";

const alarm = LeaseWalk.prototype.alarm;

/** No walk goes on by itself from now on: a test takes its steps with `stepWalk`. */
export const holdWalks = () => vi.spyOn(LeaseWalk.prototype, "alarm").mockResolvedValue(undefined);

/** Runs the alarm of a walk once, as the platform would. */
export const stepWalk = (stub: DurableObjectStub<LeaseWalk>) =>
  runInDurableObject(stub, (object) => alarm.call(object));
