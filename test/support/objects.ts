import { runInDurableObject } from "cloudflare:test";

/**
 * Ends the running instance of an object, as a crash does: what it stored stays, what was in memory is gone, its timers never
 * fire. Earlier stubs are broken. The eviction of the test runner would wait for the timers and for calls that failed.
 */
export async function crash(stub: DurableObjectStub): Promise<void> {
  const reason = "ended by the test";
  await runInDurableObject(stub, (_, state) => state.abort(reason)).catch((error: unknown) => {
    if (!String(error).includes(reason)) throw error;
  });
}

/** The objects to which this test file has made stubs, by id, as new-isolate.ts notes them. Those of earlier files are not among them. */
export function objectsOfFile(): ReadonlyMap<string, () => DurableObjectStub> {
  const { groveKept } = globalThis as {
    groveKept?: { readonly objects: ReadonlyMap<string, () => DurableObjectStub> };
  };
  return groveKept?.objects ?? new Map();
}
