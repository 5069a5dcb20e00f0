import { MANY_ISOLATES, ONE_ISOLATE, useIsolates } from "../base/isolates.ts";
import { OWN_THREADS, SHARED_THREAD, useSweepThreads } from "../base/turns/threads.ts";
import { publishTokens } from "../tree/known-tokens.ts";
import { reuseTrees } from "../tree/supply/tree-end.ts";

/** Puts the application together for Cloudflare's network. */
export function runOnNetwork(): void {
  useIsolates(MANY_ISOLATES);
  publishTokens(false);
  useSweepThreads(OWN_THREADS);
  reuseTrees(false);
}

/**
 * Puts the application together for `wrangler dev`. Its objects share nothing, as on the network, but the thread of one process: sweeps
 * take turns.
 */
export function runOnOneThread(): void {
  runOnNetwork();
  useSweepThreads(SHARED_THREAD);
}

/** Puts the application together for one process that has the Worker and all its objects in one isolate. */
export function runInOneProcess(): void {
  useIsolates(ONE_ISOLATE);
  publishTokens(true);
  useSweepThreads(SHARED_THREAD);
  reuseTrees(true);
}
