import { runInDurableObject } from "cloudflare:test";
import { SweepTurns } from "../../src/base/shared-thread.ts";
import { LeaseStore } from "../../src/lease/store.ts";
import { InventoryStore } from "../../src/listing/inventory/shard/inventory-store.ts";
import { UpdateQueue } from "../../src/listing/updates/publish.ts";
import { CubbyholeStore } from "../../src/tree/cubbyhole.ts";
import { atCalls, failing } from "./calls.ts";

/* Faults within an object or an isolate, by what they mean for the service. What fails between objects is in calls.ts. */

/** A fault that goes on until the test ends it. */
export interface Fault {
  end(): void;
}

const THE_END = "the process ends here";

/** Updates about new tokens are lost: the isolate of their trees ends before it sends them. */
export const loseCreationUpdates = (): Fault => losing("made");

/** Updates about changed tokens are lost. */
export const loseChangeUpdates = (): Fault => losing("changed");

function losing(kind: "made" | "changed"): Fault {
  return atCalls(UpdateQueue, "add", ({ args: [update], proceed }) => (update.kind === kind ? undefined : proceed()));
}

/** The process ends before a tree that deletes tokens cancels their pending updates. */
export const endBeforeCancelling = (): Fault => failing(UpdateQueue, "cancelUpdates", THE_END);

/** The process ends while a tree deletes tokens. */
export const endWithinTree = (): Fault => failing(CubbyholeStore, "deleteOf", THE_END);

/** The process ends while a shard takes tokens off the list. */
export const endWithinShard = (): Fault => failing(InventoryStore, "remove", THE_END);

/** The process ends after the target of a lease has answered, and before its tree notes it. */
export const endBeforeLeaseIsRemoved = (): Fault => failing(LeaseStore, "remove", THE_END);

/** A sweep ends no more leases of dead tokens than this in a step. */
export const sweepFewLeases = (most: number): Fault =>
  atCalls(LeaseStore, "endOfTokens", ({ args: [rows, now, limit], proceed }) =>
    proceed(rows, now, most) < most ? 0 : limit,
  );

/** The database of an object fails at the `nth` statement with this text. */
export async function failStatement(stub: DurableObjectStub, text: string, nth: number): Promise<() => Promise<void>> {
  const mend = await runInDurableObject(stub, (_, { storage: { sql } }) => {
    const original = sql.exec;
    let seen = 0;
    sql.exec = function exec(this: SqlStorage, ...args: Parameters<typeof original>) {
      if (String(args[0]).includes(text) && ++seen === nth) throw new Error("the database fails");
      return original.apply(sql, args);
    } as typeof original;
    return () => {
      sql.exec = original;
    };
  });
  return () => runInDurableObject(stub, mend);
}

/** As many trees sweep already as may: others are put off until then (ms). */
export const putSweepsOff = (until: number): Fault => atCalls(SweepTurns, "putOffTo", () => until);
