import type { Token, WatermarkRevocations } from "../../client/answers.d.ts";
import { isMeant } from "./filter.ts";
import type { Selection } from "./selection.ts";

/** How long a revocation is remembered (ms): its rows are swept by then. */
const KEPT_MS = 600_000;

/** Recent revocations of this console. */
let revocations: readonly { readonly selection: Selection; readonly at: number }[] = [];

/** A revocation of all that a path, a method, a role or an entity gave, or of what a restore ended. */
export type Watermark = Pick<
  WatermarkRevocations["revocations"][number],
  "prefix" | "entity_id" | "issued_since" | "time" | "created_before"
>;

/** Revocations that the server knows, of all callers. Its lists omit their tokens; its map counts these until the clean-up. */
let watermarks: readonly Watermark[] = [];

/** Remembers a revocation, so that pages mark its tokens. `now` in ms. */
export function noteRevocation(selection: Selection, now = Date.now()): void {
  revocations = [...revocations.filter(({ at }) => now - at < KEPT_MS), { selection, at: now }];
}

/** Replaces the revocations that the server knows. */
export function noteWatermarks(known: readonly Watermark[]): void {
  watermarks = known;
}

/** True for a token that this console revoked lately: it is refused, and listed only until the sweep. `now` in ms. */
export function isBeingSwept(token: Token | null, now = Date.now()): boolean {
  if (token === null) return false;
  return revocations.some(
    ({ selection, at }) => now - at < KEPT_MS && Date.parse(token.created) <= at && isMeant(selection, token),
  );
}

/** True for a token that was revoked: by this console, or by a revocation that the server knows and cleans up by itself. */
export const isBeingRevoked = (token: Token | null): boolean =>
  isBeingSwept(token) || (token !== null && watermarks.some((watermark) => endsBy(watermark, token)));

/** Path of the root tokens that an initialization gives. They have no lease, and prefixes are those of leases. */
const WITHOUT_LEASE = "auth/token/root";

/** True when a watermark ended the token itself. The server decides by numbers, which agree with the times but for moments. */
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
