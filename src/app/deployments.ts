import { ObjectMoves } from "../base/object-moves.ts";
import { OWN_THREADS, SharedThread } from "../base/shared-thread.ts";
import type { Env } from "../env.ts";
import type { TreeDeployment } from "../tree/deployment.ts";
import { NO_KNOWN_TOKENS, SharedKnownTokens } from "../tree/known-tokens.ts";

/** Maximum share of the thread's time that all background checks together take, where one thread serves everything. */
const CHECKS_OF_ONE_THREAD = 0.2;

/** Cloudflare's network: Workers and objects run in many isolates, each object on a thread of its own. */
export const NETWORK: TreeDeployment = {
  pace: OWN_THREADS,
  clockSkewMs: 60_000,
  offersJurisdictions: true,
  moves: null,
  delayElsewhereMs: (maxAgeMs) => maxAgeMs,
  graceMs: () => 0,
  treesElsewhere: (changed) => changed,
  makesAllTrees: false,
  // Each isolate appends by itself, and an object takes some 400 appends a second.
  auditShards: 16,
  shareOfCheck: () => 0.05,
  knownTokens: NO_KNOWN_TOKENS,
  reusesTrees: false,
};

/** `wrangler dev`: as on the network, but all objects run on one thread. */
export const ONE_THREAD: TreeDeployment = { ...NETWORK, pace: new SharedThread(), makesAllTrees: true };

/** `npm run serve`: one isolate of one process runs the Worker and all its objects. */
export const ONE_PROCESS: TreeDeployment = {
  pace: new SharedThread(),
  clockSkewMs: 0,
  offersJurisdictions: false,
  moves: null,
  delayElsewhereMs: () => 0,
  graceMs: (setMs) => setMs,
  treesElsewhere: () => [],
  makesAllTrees: true,
  auditShards: 1,
  shareOfCheck: (checks) => CHECKS_OF_ONE_THREAD / checks,
  knownTokens: new SharedKnownTokens(),
  reusesTrees: true,
};

/**
 * A cluster: each node runs the Worker and the objects that it owns on one thread. Another node can own the object that
 * a request needs, and an object moves to another node.
 */
export const CLUSTER: TreeDeployment = {
  ...NETWORK,
  pace: new SharedThread(),
  clockSkewMs: 30_000,
  offersJurisdictions: false,
  moves: new ObjectMoves(),
  shareOfCheck: ONE_PROCESS.shareOfCheck,
};

/** Chooses the deployment by the settings that `npm run serve` and `npm run dev` set. */
export function deploymentOf(env: Pick<Env, "CLUSTER" | "ONE_PROCESS" | "ONE_THREAD">): TreeDeployment {
  if (env.CLUSTER === "true") return CLUSTER;
  if (env.ONE_PROCESS === "true") return ONE_PROCESS;
  return env.ONE_THREAD === "true" ? ONE_THREAD : NETWORK;
}
