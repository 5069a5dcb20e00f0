import { runInDurableObject } from "cloudflare:test";
import type { DurableObject } from "cloudflare:workers";
import { vi } from "vitest";
import { ObjectAlarm } from "../../src/storage/object-alarm.ts";

/** The state of an object, from inside one of its methods that a test replaces. */
export function stateOf(object: DurableObject): DurableObjectState {
  return Reflect.get(object, "ctx");
}

/** No object does anything by its alarm until the test ends. `beforeEach(holdAlarms)` */
export function holdAlarms(): void {
  vi.spyOn(ObjectAlarm.prototype, "run").mockResolvedValue(undefined);
}

/**
 * `method`, to stand in for one of an object that answers at once. Over RPC nobody can tell, but the types of the two differ.
 */
export function answeringLater<Method extends (...args: never[]) => unknown>(
  method: (...args: Parameters<Method>) => Promise<Awaited<ReturnType<Method>>>,
): Method {
  return method as unknown as Method;
}

/**
 * Ends the running instance of an object, as a crash does: what it stored stays, what was in memory is gone, its timers never
 * fire. Stubs of before are broken. The eviction of the test runner would wait for the timers and for calls that failed.
 */
export async function crash(stub: DurableObjectStub): Promise<void> {
  const reason = "ended by the test";
  await runInDurableObject(stub, (_, state) => state.abort(reason)).catch((error: unknown) => {
    if (!String(error).includes(reason)) throw error;
  });
}
