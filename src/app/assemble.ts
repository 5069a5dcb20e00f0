import { MANY_ISOLATES, ONE_ISOLATE, useIsolates } from "../base/isolates.ts";
import { useOneThread } from "../base/turns/threads.ts";
import { NO_KNOWN_TOKENS, SHARED_KNOWN_TOKENS, useKnownTokens } from "../tree/known-tokens.ts";
import { useTreeReuse } from "../tree/supply/tree-reuse.ts";

/** Puts the application together for Cloudflare's network. */
export function runOnNetwork(): void {
  useIsolates(MANY_ISOLATES);
  useKnownTokens(NO_KNOWN_TOKENS);
  useOneThread(false);
  useTreeReuse(false);
}

/**
 * Puts the application together for `wrangler dev`. Its objects share nothing, as on the network, but the thread of one process: sweeps
 * take turns.
 */
export function runOnOneThread(): void {
  runOnNetwork();
  useOneThread(true);
}

/** Puts the application together for one process that has the Worker and all its objects in one isolate. */
export function runInOneProcess(): void {
  useIsolates(ONE_ISOLATE);
  useKnownTokens(SHARED_KNOWN_TOKENS);
  useOneThread(true);
  useTreeReuse(true);
}
