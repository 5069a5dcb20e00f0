import type { Token, WatermarkRevocations } from "../../client/answers.d.ts";
import { isMeant } from "./filter.ts";
import type { Selection } from "./selection.ts";

/** How long a revocation is remembered (ms): its rows are swept by then. */
const KEPT_MS = 600_000;

/** Recent revocations in this console. */
let revocations: readonly { readonly selection: Selection; readonly at: number }[] = [];

/** A bulk revocation by path, method, role or entity, or by a restore. */
export type Watermark = Pick<
  WatermarkRevocations["revocations"][number],
  "prefix" | "entity_id" | "issued_since" | "time" | "created_before"
>;

/**
 * Bulk revocations of all callers, from the server. Its lists leave out their tokens, but its map counts them until the
 * clean-up.
 */
let watermarks: readonly Watermark[] = [];

/** Remembers a revocation, so that pages mark its tokens. `now` in ms. */
export function noteRevocation(selection: Selection, now = Date.now()): void {
  revocations = [...revocations.filter(({ at }) => now - at < KEPT_MS), { selection, at: now }];
}

/** Replaces the revocations from the server. */
export function noteWatermarks(known: readonly Watermark[]): void {
  watermarks = known;
}

/** True for a token that this console revoked lately. It is refused, and listed only until the sweep. `now` in ms. */
export function isBeingSwept(token: Token | null, now = Date.now()): boolean {
  if (token === null) return false;
  return revocations.some(
    ({ selection, at }) => now - at < KEPT_MS && Date.parse(token.created) <= at && isMeant(selection, token),
  );
}

/** True for a token that was revoked by this console, or by a bulk revocation that the server cleans up. */
export const isBeingRevoked = (token: Token | null): boolean =>
  isBeingSwept(token) || (token !== null && watermarks.some((watermark) => endsBy(watermark, token)));

/** Path of the root tokens of an initialization. They have no lease, so no revocation by prefix ends them. */
const WITHOUT_LEASE = "auth/token/root";

/** True when a watermark ended the token. The server compares sequence numbers, with which the times nearly agree. */
function endsBy(
  { prefix, entity_id: entity, issued_since: since, time, created_before: before }: Watermark,
  token: Token,
) {
  const created = Date.parse(token.created);
  if (created >= Date.parse(before ?? time)) return false;
  if (since !== undefined) return created >= Date.parse(since);
  if (prefix === undefined) return token.entity_id === entity;
  const base = prefix.replace(/\/$/, "");
  return token.path !== WITHOUT_LEASE && (token.path === base || token.path.startsWith(`${base}/`));
}
