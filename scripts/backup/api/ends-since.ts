import { MAX_ENDED } from "../../../src/base/limits.ts";
import { ok } from "../../../src/base/result.ts";
import { ENDED_PAGE, type EndedSince, REVOCATIONS, type Revocation } from "../../grove/answer-schemas.ts";
import { type Called, failed, type GroveClient } from "../../grove/client.ts";
import { readHealth } from "../../grove/health.ts";
import type { Manifest } from "./manifest.ts";

/** Tokens of one page. */
const PAGE_SIZE = 1000;
/** Most pages that are read: all ends are kept in memory. */
const MAX_PAGES = 500;
/** Ends of tokens that a restore does not bring back. */
const NOT_RESTORED: ReadonlySet<string> = new Set(["expired", "never issued"]);

/** Tokens and revocations after a backup that its restore would undo. */
export interface EndsSince {
  /** The last first. */
  readonly tokens: readonly EndedSince[];
  /** Revocations by path, role, mount or entity, the last first. */
  readonly revocations: readonly Revocation[];
  /** Why `tokens` may be incomplete, as texts for the operator; empty when the server's list was read to the backup. */
  readonly gaps: readonly string[];
}

/**
 * Asks the server of a backup what was revoked since.
 *
 * @param progress is called after each page. @param now ms.
 */
export async function endsSince(
  client: GroveClient,
  manifest: Manifest,
  progress: (looked: number) => void,
  now: number,
): Promise<Called<EndsSince>> {
  const health = await readHealth(client);
  if (!health.ok) return health;
  const { initialized, cluster_id: clusterId } = health.value;
  if (!initialized || clusterId !== manifest.cluster_id) {
    return failed("the server at VAULT_ADDR is not the one that the backup was made of");
  }
  const since = Date.parse(manifest.started_at);
  const found = await endsOf(client, since, progress);
  if (!found.ok) return found;
  const revoked = await client.get("sys/leases/revocations", REVOCATIONS);
  if (!revoked.ok) return revoked;
  const { ends, gaps } = found.value;
  return ok({
    tokens: restoredOf(ends, Date.parse(manifest.finished_at), now),
    revocations: revoked.value.revocations.filter(({ time }) => Date.parse(time) >= since),
    gaps,
  });
}

/** All listed ends since a time (ms). */
async function endsOf(
  client: GroveClient,
  since: number,
  progress: (looked: number) => void,
): Promise<Called<{ readonly ends: readonly EndedSince[]; readonly gaps: readonly string[] }>> {
  const ends: EndedSince[] = [];
  for (let pages = 0, after = ""; pages < MAX_PAGES; pages++) {
    const page = await client.get("sys/tokens/ended", ENDED_PAGE, { limit: String(PAGE_SIZE), after });
    if (!page.ok) return page;
    const { tokens, next } = page.value;
    const earlier = tokens.findIndex(({ ended }) => Date.parse(ended.at) < since);
    for (const end of earlier < 0 ? tokens : tokens.slice(0, earlier)) ends.push(end);
    progress(ends.length);
    if (earlier >= 0) return ok({ ends, gaps: gapOfShards(ends) });
    if (next === "") return ok({ ends, gaps: [...gapOfShards(ends), gapOfTime(ends)] });
    after = next;
  }
  return ok({ ends, gaps: [`only the last ${ends.length} ends were looked at, back to ${ends.at(-1)?.ended.at}`] });
}

/** Shards forget the earliest ends first, so an end from before the backup shows that age did not remove later ones. */
function gapOfTime(ends: readonly EndedSince[]): string {
  const oldest = ends.at(-1)?.ended.at;
  const kept = oldest === undefined ? "no end is kept" : `the earliest end that is kept is of ${oldest}`;
  return `${kept}: the list may not reach back to the backup, as ends are kept for 30 days (the setting TOMBSTONE_DAYS)`;
}

function gapOfShards(ends: readonly EndedSince[]): string[] {
  const ofJobs = ends.filter(({ ended }) => ended.job !== "").length;
  // With fewer ends than one shard keeps, no shard was full.
  const isFull = ofJobs >= MAX_ENDED.job || ends.length - ofJobs >= MAX_ENDED.other;
  return isFull ? [`${ends.length} tokens ended since the backup: the list may have dropped the earliest of them`] : [];
}

/**
 * The ends that a restore undoes. A token that was issued after the backup is not in it, and an expired token stays ended.
 *
 * @param finished when the backup was finished (ms). @param now ms.
 */
function restoredOf(ends: readonly EndedSince[], finished: number, now: number): EndedSince[] {
  const howOf = new Map(ends.map(({ token, ended }) => [token.accessor, ended.how]));
  return ends.filter(({ token, ended }) => {
    if (Date.parse(token.created) > finished) return false;
    if (token.expires !== null && Date.parse(token.expires) <= now) return false;
    // A token that ended with an ancestor follows that ancestor's end.
    return !NOT_RESTORED.has(howOf.get(ended.cause) ?? ended.how);
  });
}
