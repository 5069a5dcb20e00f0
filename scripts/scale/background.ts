import { shareOf } from "../../src/tidy/pace.ts";
import { ACCESSOR_SHARDS } from "../../src/tree/index/accessor-shard-number.ts";
import { batches } from "./batches.ts";
import type { Release } from "./objects.ts";
import { type Calls, cost, END_OF_LONE, OPERATIONS } from "./operations.ts";
import type { World } from "./world.ts";

/** Calls that a world makes continuously, with their rate. */
export interface Stream {
  readonly calls: Calls;
  readonly perSecond: number;
}

/** An isolate reads the installation anew when four fifths of POLICY_CACHE_SECONDS (5) have passed. */
const POLL_SECONDS = 4;
/** Token roles that one isolate needs at a time. */
const ROLES_OF_AN_ISOLATE = 2;
/** POLICY_CACHE_SECONDS: how long an isolate remembers a token role. */
const CACHE_SECONDS = 5;
/** An isolate tells once a minute how much it has encrypted. */
const KEY_USE_SECONDS = 60;
/** In release 0.1.0 one object visited every live tree in this time. */
const TIDY_SECONDS = 3_600;
/** Pause of a shard between two turns in which it asks for ends (src/tree/index/lone-ends.ts). */
const ASKING_SECONDS = 1;
/** Entries of a page of the check of a shard, and the share of time that it works (src/tidy). */
const CHECK_PAGE = 100;
const CHECK_SHARE = shareOf(false, ACCESSOR_SHARDS);
/** How long a check takes for a page: a list, a hundred trees eight at a time, an answer (s). */
const PAGE_SECONDS = 0.2;

/** The calls that no request makes: refreshing of copies, ends of tokens, tidy. */
export function background(world: World, release: Release): Stream[] {
  const { isolates, rates, liveTrees } = world;
  const started = startedTrees(world);
  const lone = loneTrees(world);
  const ends: Calls = release === "now" ? OPERATIONS.revoke.afterwards : { "AccessorShard.remove": cost(2, 2) };
  return [
    { calls: { "System.snapshot": cost(release === "now" ? 0 : 1, 0) }, perSecond: isolates / POLL_SECONDS },
    { calls: { "System.noteEncryptions": cost(3, 1) }, perSecond: isolates / KEY_USE_SECONDS },
    ...(release === "now" ? [rolesRead(world)] : []),
    { calls: release === "now" ? WRITTEN_TOGETHER : {}, perSecond: 2 * births(world) },
    // As many tokens end as are made. The end of a revoked token is counted with its revocation.
    { calls: ends, perSecond: Math.max(0, births(world) - started - rates.revoke) },
    { calls: release === "now" ? END_OF_TREE : ends, perSecond: started - lone },
    { calls: release === "now" ? endsTogether(lone) : ends, perSecond: lone },
    release === "now" ? checks(world) : { calls: WALK, perSecond: liveTrees / TIDY_SECONDS },
  ];
}

/**
 * What the lists of ids and the counters of the inventory cost for a token that comes or goes, as part of a call about it: a batch of
 * 128 tokens of one kind writes 18 rows (test/workers/inventory/index.test.ts). Assumed is that it has tokens of seven kinds.
 */
const WRITTEN_TOGETHER: Calls = { "AccessorShard.tell": cost(2, 1, 0) };

const { "AccessorShard.tell": _, ...endOfTree } = OPERATIONS.revoke.afterwards;
/** What follows from the end of the first token of a tree that had others: no other changes with it. */
const END_OF_TREE: Calls = endOfTree;

/** What follows from ends of tokens that are alone in their trees, at so many in a second: a shard asks for those of a second at once. */
function endsTogether(perSecond: number): Calls {
  const { "AccessorShard.alarm": alarm, ...ofTree } = END_OF_LONE;
  const times = perSecond === 0 || !alarm ? 0 : batches(ACCESSOR_SHARDS, perSecond, ASKING_SECONDS) / perSecond;
  return { ...ofTree, ...(alarm && { "AccessorShard.alarm": { ...alarm, times } }) };
}

/** Before: a call of the one object that walks, which reached 190 trees a second and so counts as two. */
const WALK: Calls = { "Tidy.alarm": cost(2, 4, 2), "TokenTree.tidy": cost(6, 0) };

/** Pages that the checks of all shards work through: all of them once an hour, or as many as they have the time for. */
function checks({ liveTokens, liveTrees }: World): Stream {
  const wanted = liveTokens / CHECK_PAGE / TIDY_SECONDS;
  const possible = (ACCESSOR_SHARDS * CHECK_SHARE) / PAGE_SECONDS;
  const trees = Math.min(CHECK_PAGE, (CHECK_PAGE * liveTrees) / liveTokens);
  return {
    calls: {
      "ShardTidy.alarm": cost(2, 1),
      "AccessorShard.list": cost(CHECK_PAGE, 0),
      "AccessorShard.fillMissing": cost(3 * CHECK_PAGE, 0),
      "TokenTree.tidy": cost(8 * CHECK_PAGE, 0, trees),
    },
    perSecond: Math.min(wanted, possible),
  };
}

function rolesRead({ isolates, rates }: World): Stream {
  const refreshed = (isolates * ROLES_OF_AN_ISOLATE) / CACHE_SECONDS;
  return { calls: { "TokenRoles.read": cost(1, 0) }, perSecond: Math.min(rates.createByRole, refreshed) };
}

/** Trees that are started in a second. */
export function startedTrees({ rates }: World): number {
  return rates.createOrphan + rates.loginByDocument + rates.loginBySignature;
}

/** Those of them that stay trees of one token, when no two children have a tree in common. */
function loneTrees(world: World): number {
  const { createChild, createByRole } = world.rates;
  return Math.max(0, startedTrees(world) - createChild - createByRole);
}

/** Service tokens that are made in a second. */
function births({ rates }: World): number {
  const { createChild, createByRole, createOrphan, loginByDocument, loginBySignature } = rates;
  return createChild + createByRole + createOrphan + loginByDocument + loginBySignature;
}
