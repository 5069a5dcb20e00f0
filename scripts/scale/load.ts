import { ENTITY_SHARDS } from "../../src/identity/shard/place.ts";
import { ACCESSOR_SHARDS } from "../../src/listing/accessor-shard-number.ts";
import { ACCESS_SHARDS } from "../../src/system/access-shards.ts";
import { shareOf } from "../../src/tidy/pace.ts";
import { allCalls, type Calls, cost, END_OF_LONE, OPERATION_NAMES, OPERATIONS } from "./operations.ts";
import { grown, type World } from "./world.ts";

/** Calls that a world makes continuously, with their rate. */
export interface Stream {
  readonly calls: Calls;
  readonly perSecond: number;
}

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

/**
 * Calls that one object answers in a second, when all of them only read or all of them write: the vendor's
 * durable-objects/platform/limits and /best-practices/rules-of-durable-objects (200 to 500 writes), read on 2026-11-22.
 */
const CEILING = { readsPerSecond: 1_000, writesPerSecond: 400 } as const;
/** Share of its ceiling above which an object is called a risk: half is left for bursts. */
const COMFORTABLE = 0.5;

/**
 * How many objects share the load of a class; null where each client has one of its own. A class that is not named here has to be
 * added before it can appear in the table of operations.
 */
const OBJECTS: Readonly<Record<string, (world: World) => number | null>> = {
  TokenTree: () => null,
  AccessorShard: () => ACCESSOR_SHARDS,
  System: () => 1,
  Identity: () => 1,
  EntityShard: () => ENTITY_SHARDS,
  TokenRoles: () => 1,
  CloudAccessList: ({ mounts }) => mounts * ACCESS_SHARDS,
  CloudLookups: ({ mounts, accounts }) => Math.max(mounts, accounts),
  ShardTidy: () => ACCESSOR_SHARDS,
};

/** An isolate reads the installation, groups and entities again when four fifths of POLICY_CACHE_SECONDS (5) have passed. */
const POLL_SECONDS = 4;
/** Entities that an isolate uses all the time, such as that of all machines of a role. */
const ENTITIES_OF_AN_ISOLATE = 4;
/** Token roles that an isolate needs at a time, and how long it keeps one (POLICY_CACHE_SECONDS). */
const ROLES_OF_AN_ISOLATE = 2;
const ROLE_SECONDS = 5;
/** An isolate reports once a minute how much it has encrypted. */
const KEY_USE_SECONDS = 60;
/** Pause of a shard between two turns in which it asks trees for the expiry of their only token. */
const EXPIRY_SECONDS = 1;
/** Updates wait so long for others of the same isolate, and those that can wait for other updates at most so long (s). */
const UPDATE_SECONDS = 1;
const PATIENCE_SECONDS = 10;
/** Entries of a page of a shard's check, how often all are checked, and how long a page takes: a list, a hundred trees, an answer (s). */
const CHECK_PAGE = 100;
const CHECK_SECONDS = 3_600;
const PAGE_SECONDS = 0.2;

/** The call with which an isolate updates the lists of a shard. */
const UPDATE = "AccessorShard.tell";

/**
 * What the lists of ids and the counters of the inventory cost for a token that comes or goes, as part of an update: a batch of 128
 * tokens of one kind writes 18 rows (test/workers/inventory/index.test.ts). Assumed is that it has tokens of seven kinds.
 */
const WRITTEN_TOGETHER: Calls = { [UPDATE]: cost(2, 1, 0) };

/** What follows from the end of the first token of a tree that had others: no other token changes with it. */
const { [UPDATE]: _, ...END_OF_TREE } = OPERATIONS.revoke.afterwards;

/** Calls that the alarm of a shared object makes, one for each token: an answer is as much work for it as a call that reads. */
const ASKED_BY: Readonly<Record<string, string>> = { "TokenTree.endLone": "AccessorShard" };

/** All calls to objects in a world: those of requests, and those that no request makes. */
export function streams(world: World): Stream[] {
  const ofRequests = OPERATION_NAMES.map((name) => ({ calls: allCalls(name), perSecond: world.rates[name] }));
  return updatedTogether(world, [...ofRequests, ...background(world)]);
}

/** The load of all objects that clients share, the highest first. Trees are left out: each has clients of its own. */
export function sharedLoads(world: World): Load[] {
  const sums = new Map<string, { reads: number; writes: number }>();
  const add = (type: string, kind: "reads" | "writes", calls: number) => {
    const sum = sums.get(type) ?? { reads: 0, writes: 0 };
    sum[kind] += calls;
    sums.set(type, sum);
  };
  for (const { calls, perSecond } of streams(world)) {
    for (const [method, { times, rowsWritten }] of Object.entries(calls)) {
      add(classOf(method), rowsWritten > 0 ? "writes" : "reads", perSecond * times);
      const asker = ASKED_BY[method];
      if (asker !== undefined) add(asker, "reads", perSecond * times);
    }
  }
  const loads = [...sums].flatMap(([type, { reads, writes }]) => {
    const count = OBJECTS[type];
    if (!count) throw new Error(`scripts/scale/load.ts does not say how many objects of ${type} there are`);
    const objects = count(world);
    if (objects === null) return [];
    const [readsPerSecond, writesPerSecond] = [reads / objects, writes / objects];
    const utilisation = readsPerSecond / CEILING.readsPerSecond + writesPerSecond / CEILING.writesPerSecond;
    return [{ type, objects, readsPerSecond, writesPerSecond, utilisation }];
  });
  return loads.sort((one, other) => other.utilisation - one.utilisation);
}

/** The classes of a world whose objects have no room for bursts. */
export function overloaded(world: World): string[] {
  return sharedLoads(world).flatMap(({ type, utilisation }) => (utilisation > COMFORTABLE ? [type] : []));
}

/** What reaches its ceiling first when everything grows, and by which factor. */
export function firstToBreak(world: World): { readonly type: string; readonly factor: number } {
  const busiest = (factor: number) => sharedLoads(grown(world, factor))[0];
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

/** `AccessorShard` of `AccessorShard.list`. */
export function classOf(method: string): string {
  return method.split(".")[0] ?? method;
}

/** The calls that no request makes: refreshing of copies, expiry of tokens, tidy. */
function background(world: World): Stream[] {
  const { isolates, rates } = world;
  const started = startedTrees(world);
  const made = started + rates.createChild + rates.createByRole;
  // Trees that keep one token, when no two children have a tree in common.
  const single = Math.max(0, started - rates.createChild - rates.createByRole);
  const roles = Math.min(rates.createByRole, (isolates * ROLES_OF_AN_ISOLATE) / ROLE_SECONDS);
  return [
    { calls: { "System.snapshot": cost(0, 0) }, perSecond: isolates / POLL_SECONDS },
    { calls: { "Identity.allGroups": cost(1, 0) }, perSecond: isolates / POLL_SECONDS },
    { calls: { "EntityShard.entity": cost(1, 0) }, perSecond: (isolates * ENTITIES_OF_AN_ISOLATE) / POLL_SECONDS },
    { calls: { "System.noteEncryptions": cost(3, 1) }, perSecond: isolates / KEY_USE_SECONDS },
    { calls: { "TokenRoles.read": cost(1, 0) }, perSecond: roles },
    { calls: WRITTEN_TOGETHER, perSecond: 2 * made },
    // As many tokens end as are made. The end of a revoked token is counted with its revocation.
    { calls: OPERATIONS.revoke.afterwards, perSecond: Math.max(0, made - started - rates.revoke) },
    { calls: END_OF_TREE, perSecond: started - single },
    { calls: expiry(single), perSecond: single },
    checks(world),
  ];
}

/** Trees that are started in a second. */
function startedTrees({ rates }: World): number {
  return rates.createOrphan + rates.loginByDocument + rates.loginBySignature;
}

/** What follows from the expiry of so many single tokens in a second: a shard asks the trees of all that end in the same second. */
function expiry(perSecond: number): Calls {
  const { "AccessorShard.alarm": alarm, ...ofTree } = END_OF_LONE;
  const times = perSecond === 0 ? 0 : batches(ACCESSOR_SHARDS, perSecond, EXPIRY_SECONDS) / perSecond;
  return { ...ofTree, "AccessorShard.alarm": { ...alarm, times } };
}

/** Pages that the checks of all shards work through: all of them once an hour, or as many as they have the time for. */
function checks({ liveTokens, liveTrees }: World): Stream {
  const wanted = liveTokens / CHECK_PAGE / CHECK_SECONDS;
  const possible = (ACCESSOR_SHARDS * shareOf(ACCESSOR_SHARDS)) / PAGE_SECONDS;
  const trees = Math.min(CHECK_PAGE, (CHECK_PAGE * liveTrees) / liveTokens);
  return {
    calls: {
      "ShardTidy.alarm": cost(2, 1),
      "AccessorShard.claims": cost(CHECK_PAGE, 0),
      "TokenTree.tidy": cost(8 * CHECK_PAGE, 0, trees),
    },
    perSecond: Math.min(wanted, possible),
  };
}

/**
 * The streams with updates as isolates send them: one call for all that comes in a second for one shard. The table of operations has
 * them as if each token were alone; rows stay as they are there. That the first token of a tree is listed waits for other updates.
 */
function updatedTogether(world: World, all: readonly Stream[]): Stream[] {
  const updates = all.reduce((sum, { calls, perSecond }) => sum + (calls[UPDATE]?.times ?? 0) * perSecond, 0);
  const started = startedTrees(world);
  const share = updates === 0 ? 0 : updateCalls(world, updates - started, started) / updates;
  return all.map(({ calls, perSecond }) => {
    const update = calls[UPDATE];
    return { calls: update ? { ...calls, [UPDATE]: { ...update, times: update.times * share } } : calls, perSecond };
  });
}

/**
 * Calls in a second for so many updates, which come at random from all isolates to all shards.
 *
 * @param waiting updates that go with others, or alone after a while.
 */
export function updateCalls({ isolates }: Pick<World, "isolates">, updates: number, waiting: number): number {
  const pairs = isolates * ACCESSOR_SHARDS;
  const alone = Math.exp((-updates * PATIENCE_SECONDS) / pairs);
  return batches(pairs, updates, UPDATE_SECONDS) + alone * batches(pairs, waiting, PATIENCE_SECONDS);
}

/** Batches in a second, when what comes at random to one of several receivers waits there for what comes within `seconds` after it. */
function batches(receivers: number, perSecond: number, seconds: number): number {
  const each = perSecond / receivers;
  return receivers * (each / (1 + each * seconds));
}
