import { MANY_ISOLATES, ONE_ISOLATE, useIsolates } from "../base/isolates.ts";
import { OWN_THREADS, SHARED_THREAD, useSweepPace } from "../base/turns.ts";
import { NO_KNOWN_TOKENS, SHARED_KNOWN_TOKENS, useKnownTokens } from "../tree/known-tokens.ts";
import { DELETED_TREES, REUSED_TREES, useTreeReuse } from "../tree/supply/tree-end.ts";

/** Chooses the implementations for Cloudflare's network. */
export function runOnNetwork(): void {
  useIsolates(MANY_ISOLATES);
  useKnownTokens(NO_KNOWN_TOKENS);
  useSweepPace(OWN_THREADS);
  useTreeReuse(DELETED_TREES);
}

/** Chooses the implementations for `wrangler dev`: as on the network, but sweeps take turns on the one thread. */
export function runOnOneThread(): void {
  runOnNetwork();
  useSweepPace(SHARED_THREAD);
}

/** Chooses the implementations for one process, where the Worker and all its objects run in one isolate. */
export function runInOneProcess(): void {
  useIsolates(ONE_ISOLATE);
  useKnownTokens(SHARED_KNOWN_TOKENS);
  useSweepPace(SHARED_THREAD);
  useTreeReuse(REUSED_TREES);
}
