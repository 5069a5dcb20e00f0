import { background, type Stream } from "./background.ts";
import { BEFORE } from "./before.ts";
import { objectsOf, type Release } from "./objects.ts";
import { allCalls, type OperationName } from "./operations.ts";
import { toldTogether } from "./told-together.ts";
import { CEILING } from "./vendor.ts";
import { grown, type World } from "./world.ts";

/** Load of the objects of one class that many clients share. */
export interface Load {
  /** Name of the class. */
  readonly type: string;
  readonly objects: number;
  /** Calls to one object in a second. */
  readonly readsPerSecond: number;
  readonly writesPerSecond: number;
  /** Share of what one object can do; above 1 it turns requests away. */
  readonly utilisation: number;
}

/** Calls that the alarm of a shared object makes, one for each token: an answer is as much work for it as a call that reads. */
const ASKED_BY: Readonly<Record<string, string>> = { "TokenTree.endLone": "AccessorShard" };

/** All calls to objects in a world: those of requests and those beside them. */
export function streams(world: World, release: Release): Stream[] {
  const ofRequests = Object.entries(world.rates).map(([name, perSecond]) => {
    const operation = name as OperationName;
    return { calls: release === "now" ? allCalls(operation) : BEFORE[operation], perSecond };
  });
  const all = [...ofRequests, ...background(world, release)];
  return release === "now" ? toldTogether(world, all) : all;
}

/** The load of all objects that clients share, the highest first. Trees are left out: each has clients of its own. */
export function sharedLoads(world: World, release: Release): Load[] {
  const sums = new Map<string, { reads: number; writes: number }>();
  const sumOf = (type: string) => {
    const sum = sums.get(type) ?? { reads: 0, writes: 0 };
    sums.set(type, sum);
    return sum;
  };
  for (const { calls, perSecond } of streams(world, release)) {
    for (const [method, { times, rowsWritten }] of Object.entries(calls)) {
      sumOf(classOf(method))[rowsWritten > 0 ? "writes" : "reads"] += perSecond * times;
      const asker = ASKED_BY[method];
      if (asker !== undefined) sumOf(asker).reads += perSecond * times;
    }
  }
  const loads = [...sums].flatMap(([type, { reads, writes }]) => {
    const objects = objectsOf(type, world);
    if (objects === null) return [];
    const [readsPerSecond, writesPerSecond] = [reads / objects, writes / objects];
    const utilisation = readsPerSecond / CEILING.readsPerSecond + writesPerSecond / CEILING.writesPerSecond;
    return [{ type, objects, readsPerSecond, writesPerSecond, utilisation }];
  });
  return loads.sort((one, other) => other.utilisation - one.utilisation);
}

/** What reaches its ceiling first when everything grows, and by which factor. */
export function firstToBreak(world: World, release: Release): { readonly type: string; readonly factor: number } {
  const busiest = (factor: number) => sharedLoads(grown(world, factor), release)[0];
  const isOver = (factor: number) => (busiest(factor)?.utilisation ?? 0) >= 1;
  let [low, high] = [0, 1];
  while (!isOver(high) && high < 2 ** 40) high *= 2;
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (isOver(middle)) high = middle;
    else low = middle;
  }
  return { type: busiest(high)?.type ?? "nothing", factor: high };
}

/** `AccessorShard` of `AccessorShard.add`. */
function classOf(method: string): string {
  return method.split(".")[0] ?? method;
}
