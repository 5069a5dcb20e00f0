import { earliest, type Ms } from "../base/clock.ts";
import { firstRowAt } from "../token/ids.ts";

/*
 * The life cycle of a tree: which object lists its tokens, which one ends them, and what happens to an empty tree.
 *
 *   free → unlisted (by shard | by tree) → listed (single | many) → ending → free | deleted
 *
 * Most trees are one login. An alarm for each would cost a row written, so the shard that lists the only token asks the
 * tree to end it, and such a tree has an alarm only while no shard knows of it. This module decides; `TreeMaintenance`,
 * `TreeRelease` and `TreeUpdates` perform.
 */

/** Delay from the writing of a token to the alarm that checks whether the shards list it. */
export const CHECK_LISTED_MS: Ms = 5000;
/** Delay of the alarm that takes over the sweep when a call that waits for it ends early. */
const SWEEP_BY_CALLER_MS = 60_000;
/** Time after the expiry of the only token. If no shard has asked for it by then, the tree ends it by itself. */
const FORGOTTEN_MS = 86_400_000;

type TokenCount = "single" | "many";

/** What a tree remembers beside its rows. It is in memory only: see the event "woke". */
export type Life =
  /**
   * No token. `isPooled`: a shard has the id of the tree in its pool, or gets it by a call in flight. `isForgotten`: the
   * shard that allocated the id has removed it from its ledger, because the tree was empty when the shard asked.
   */
  | { readonly state: "free"; readonly isPooled: boolean; readonly isForgotten: boolean }
  /** No storage: the end of a tree that is not reused. */
  | { readonly state: "deleted" }
  /** The shard that allocated the id has it in its ledger. It asks for the only token of the tree if it is not listed. */
  | { readonly state: "unlisted"; readonly by: "shard" }
  /** The alarm of the tree checks at `checkAt` whether the shards list its new tokens. */
  | { readonly state: "unlisted"; readonly by: "tree"; readonly tokens: TokenCount; readonly checkAt: Ms }
  /** A shard lists the only token and asks for its end; or the alarm of the tree is set for its earliest expiry. */
  | { readonly state: "listed"; readonly tokens: TokenCount }
  /** Only the alarm of the tree ends its last tokens. For `isPooled` see "free". */
  | { readonly state: "ending"; readonly tokens: TokenCount; readonly isPooled: boolean };

/** What the shards have of the new tokens of a tree. */
export interface ListingProgress {
  /** True when the shards have confirmed some since the last time. */
  readonly confirmed: boolean;
  /** True while the update of a new token is queued or in flight. */
  readonly isOnItsWay: boolean;
  /** True when there are new tokens that are not queued. */
  readonly isMore: boolean;
}

export type TreeEvent =
  /** The first token is written. `inLedger`: the shard that allocated the id has recorded it. */
  | { readonly kind: "created"; readonly inLedger: boolean; readonly now: Ms }
  /** A further token is written. */
  | { readonly kind: "child"; readonly now: Ms }
  | { readonly kind: "acknowledged"; readonly progress: ListingProgress; readonly now: Ms }
  /** A shard has not answered. */
  | { readonly kind: "unanswered"; readonly retryAt: Ms }
  /** The shard that allocated the id asked, and found the tree empty. `isReusable`: it puts the id into its pool. */
  | { readonly kind: "asked while empty"; readonly isReusable: boolean }
  /** The first token was sent to its shard again. Without it (`isAlive` false) no shard asks for its end. */
  | { readonly kind: "first token listed"; readonly isAlive: boolean }
  /** A token has ended, and the list may not have it any more, so that no shard asks for its end. */
  | { readonly kind: "end is due" }
  /** Ended tokens are being removed from the lists. `areLast`: the call also gives the id of the tree to a pool. */
  | { readonly kind: "delisted"; readonly areLast: boolean }
  /** The steps of `releaseSteps` begin now: the id may be allocated again before the last step has ended. */
  | { readonly kind: "released"; readonly isReused: boolean }
  /** The shard did not answer when the tree returned its id. */
  | { readonly kind: "not returned" }
  /** The object starts with tokens: after an eviction, a crash or a restore, or on another node. */
  | {
      readonly kind: "woke";
      readonly tokens: TokenCount;
      readonly hasUnlisted: boolean;
      /** When the alarm of the object is set for; null: it is not set, or was lost. */
      readonly alarmAt: Ms | null;
      readonly isAlarmLost: boolean;
      readonly now: Ms;
    };

/** The life of a tree that was never created. */
export const NEW_TREE: Life = { state: "free", isPooled: false, isForgotten: false };

/** The life of a tree after an event. */
export function next(life: Life, event: TreeEvent): Life {
  switch (event.kind) {
    case "created": {
      const isForgotten = life.state === "free" && life.isForgotten;
      return event.inLedger && !isForgotten ? { state: "unlisted", by: "shard" } : unlistedFrom("single", event.now);
    }
    case "child":
      return isChecked(life) ? { ...life, tokens: "many" } : unlistedFrom("many", event.now);
    case "acknowledged":
      return afterProgress(life, event.progress, event.now);
    case "unanswered":
      return isChecked(life) ? { ...life, checkAt: event.retryAt } : life;
    case "asked while empty":
      return { state: "free", isPooled: event.isReusable, isForgotten: true };
    case "first token listed":
      if (!hasSingleToken(life) || life.state === "ending") return life;
      return event.isAlive ? { state: "listed", tokens: "single" } : endingOf(life);
    case "end is due":
      return isLeftToShard(life) ? endingOf(life) : life;
    case "delisted":
      return event.areLast || life.state === "ending" ? endingOf(life, event.areLast) : life;
    case "released":
      return event.isReused ? { state: "free", isPooled: true, isForgotten: false } : { state: "deleted" };
    case "not returned":
      return life.state === "free" ? { ...life, isPooled: false } : life;
    case "woke":
      return awake(event);
  }
}

/** A single token without an alarm is listed, or in the ledger of a shard. Else the alarm may have been to list it. */
function awake({
  tokens,
  hasUnlisted,
  alarmAt,
  isAlarmLost,
  now,
}: Extract<TreeEvent, { readonly kind: "woke" }>): Life {
  if (hasUnlisted || (isAlarmLost && tokens === "single")) return unlistedFrom(tokens, now);
  if (alarmAt === null || tokens === "many") return { state: "listed", tokens };
  return { state: "unlisted", by: "tree", tokens, checkAt: alarmAt };
}

/** True for a tree that has had one token since it was created. */
export function hasSingleToken(life: Life): boolean {
  return "tokens" in life ? life.tokens === "single" : life.state === "unlisted";
}

/**
 * What the alarm of a tree sends to the lists: its queued updates, or its first token again; null: nothing. `isQueued`:
 * the update of a new token is queued, or has to be. For a single token only the instance that created it knows that.
 */
export function listingDue(life: Life, isQueued: boolean): "updates" | "first token" | null {
  if (isChecked(life) && (isQueued || life.tokens === "many")) return "updates";
  return hasSingleToken(life) ? "first token" : null;
}

/** The work of a tree that is due at some time. */
interface TreeWork {
  /** When the sweep has work: `now` while revoked rows wait; null: no token ends. */
  readonly sweepAt: Ms | null;
  readonly hasDead: boolean;
  /** When a lease has to be ended, or its target notified; null: never. */
  readonly leaseAt: Ms | null;
  /** True when a caller waits for the sweep: the alarm takes it over only if that call ends early. */
  readonly sweptByCaller: boolean;
}

/** When the alarm of a tree is due; null: never. */
export function dueAt(life: Life, { sweepAt, hasDead, leaseAt, sweptByCaller }: TreeWork, now: Ms): Ms | null {
  const checkAt = isChecked(life) ? life.checkAt : null;
  const isLeft = isLeftToShard(life) && !hasDead && leaseAt === null;
  if (sweepAt === null || (isLeft && sweepAt > now - FORGOTTEN_MS)) return earliest(leaseAt, checkAt);
  return earliest(sweptByCaller ? Math.max(sweepAt, now + SWEEP_BY_CALLER_MS) : sweepAt, leaseAt, checkAt);
}

/**
 * What is done with an empty tree. The id is returned first: a crash in between leaves a large file, which the next
 * release empties. `isFileTooLarge`: to be kept for the next token.
 */
export function releaseSteps(life: Life, reusesTrees: boolean, isFileTooLarge: boolean) {
  const isPooled = "isPooled" in life && life.isPooled;
  return { returnsId: reusesTrees && !isPooled, deletesStorage: !reusesTrees || isFileTooLarge };
}

/**
 * The row floor after rows up to `highest` were deleted; no later token gets a row number up to it. In an empty tree
 * that is reused it rises to this moment, so that it covers tokens that were deleted before there was a floor. An empty
 * tree that is not reused needs none (0).
 */
export function floorAfter(highest: number, isEmpty: boolean, isReused: boolean, now: Ms): number {
  if (!isEmpty) return highest;
  return isReused ? Math.max(highest, firstRowAt(now + 1) - 1) : 0;
}

/** True when the only token of a tree is listed, or in the ledger of a shard: a shard asks for it. */
export function isLeftToShard(life: Life): boolean {
  return (life.state === "unlisted" && life.by === "shard") || (life.state === "listed" && life.tokens === "single");
}

function isChecked(life: Life): life is Extract<Life, { readonly checkAt: Ms }> {
  return "checkAt" in life;
}

function unlistedFrom(tokens: TokenCount, now: Ms): Life {
  return { state: "unlisted", by: "tree", tokens, checkAt: now + CHECK_LISTED_MS };
}

function endingOf(life: Life, isPooled = false): Life {
  return { state: "ending", tokens: hasSingleToken(life) ? "single" : "many", isPooled };
}

function afterProgress(life: Life, { confirmed, isOnItsWay, isMore }: ListingProgress, now: Ms): Life {
  if (!isChecked(life)) return isMore && life.state === "listed" ? unlistedFrom("many", now) : life;
  if (isOnItsWay || isMore) return confirmed ? unlistedFrom(life.tokens, now) : life;
  // New tokens of a larger tree may have ended before they were sent. A single token counts when a shard confirms it.
  return confirmed || life.tokens === "many" ? { state: "listed", tokens: life.tokens } : life;
}
