import { SoonestTimer, type TimerSource } from "../../../src/base/soonest-timer.ts";
import { firstRowAt, routedIdText } from "../../../src/token/ids.ts";
import { ACCESSOR_SHARDS, accessorShardNumber } from "../../../src/tree/index/accessor-shard-number.ts";
import { NewsQueue } from "../../../src/tree/index/news-queue.ts";
import {
  CALL_DELAY_MS,
  FRESHNESS_MS,
  LOOK_AGAIN_MS,
  READ_DELAY_MS,
  RETRY_MS,
} from "../../../src/tree/index/telling-times.ts";
import type { InventoryEntry } from "../../../src/tree/inventory/entry.ts";
import { BACKSTOP_MS, NewTokens } from "../../../src/tree/inventory/new-tokens.ts";
import { Random } from "./random.ts";
import { Timeline } from "./timeline.ts";
import { Violation } from "./violation.ts";

/** Length of a history, and of the quiet after it in which everything has to come onto the lists (ms). */
const LENGTH_MS = 60_000;
const QUIET_MS = 150_000;
const ISOLATES = 3;
const TREES = 5;
/** The longest way to a shard, and back (ms): together less than what freshness has for a call. */
const WAY_MS = 240;
/** The time of the beginning, as rows tell it (ms). */
const EPOCH_MS = Date.UTC(2026, 5, 1);
/** Rows are drawn so much before they are written, at most (ms). */
const DRAWN_BEFORE_MS = 40;

/** After a crash the alarms of the trees tell what is missing: so long after it (ms). */
const CRASH_MS = BACKSTOP_MS + RETRY_MS + FRESHNESS_MS;

/** What may be broken, to see that it is found. */
export interface BrokenTelling {
  /** A timer that is set is not set to an earlier moment. */
  readonly firstTimerCounts?: boolean;
  /** Trees have no alarm that looks whether the shards know. */
  readonly noBackstop?: boolean;
  /** A row that is written after a greater one was read is not looked for. */
  readonly skipsLateRows?: boolean;
}

/** What happened in a history, for the page. */
export interface ListCounts {
  readonly tokens: number;
  readonly crashes: number;
  readonly failedCalls: number;
  /** The longest time from an answer to the list that had the token, without a crash or a failed call (ms). */
  readonly longestMs: number;
}

interface Token {
  readonly row: number;
  readonly accessor: string;
  readonly answeredAt: number;
}

/** An isolate of objects: what it has in memory goes with a crash. */
interface ObjectIsolate {
  queue: NewsQueue;
  timer: Timer;
  crashedAt: number;
}

interface Timer {
  in(ms: number, work: () => void): void;
}

/**
 * Plays creations in trees of several isolates, with calls to the shards that take their time or fail, and crashes. What trees and
 * isolates tell, and when, is decided by the product's own outbox, queue and timers.
 *
 * @throws Violation when a list has not a token two seconds after the answer, and nothing has failed; or never gets it.
 */
export async function playLists(seed: number, broken: BrokenTelling = {}): Promise<ListCounts> {
  const random = new Random(seed);
  const timeline = new Timeline();
  const source: TimerSource = { now: () => timeline.now, after: (ms, work) => timeline.after(ms, work) };
  const newTimer = (): Timer => (broken.firstTimerCounts ? firstTimer(timeline) : new SoonestTimer(source));
  const listed = new Map<string, number>();
  /** Until when a shard may be behind, as a call to it failed (ms). */
  const behindUntil = Array.from({ length: ACCESSOR_SHARDS }, () => Number.NEGATIVE_INFINITY);
  const counts = { tokens: 0, crashes: 0, failedCalls: 0, longestMs: 0 };
  const isolates = Array.from(
    { length: ISOLATES },
    (): ObjectIsolate => ({ queue: new NewsQueue(), timer: newTimer(), crashedAt: Number.NEGATIVE_INFINITY }),
  );

  const list = (news: readonly InventoryEntry[]) => {
    for (const { accessor } of news) if (!listed.has(accessor)) listed.set(accessor, timeline.now);
  };

  const deliver = (shard: number, made: readonly InventoryEntry[]) =>
    new Promise<void>((answered, failed) => {
      const fate = random.share();
      timeline.after(random.below(WAY_MS), () => {
        if (fate >= 0.01) list(made);
        timeline.after(random.below(WAY_MS), () => {
          if (fate >= 0.02) return answered();
          counts.failedCalls++;
          behindUntil[shard] = timeline.now + RETRY_MS + FRESHNESS_MS;
          failed(new Error("no answer"));
        });
      });
    });

  const send = async (isolate: ObjectIsolate): Promise<void> => {
    const { queue, timer } = isolate;
    const again = () => void send(isolate);
    try {
      await queue.send((shard, { made }) => deliver(shard, made), timeline.now);
    } catch {
      return timer.in(RETRY_MS, again);
    }
    const next = queue.nextSendIn;
    // After a crash another queue is there.
    if (next !== null && isolate.queue === queue) timer.in(next, again);
  };

  const trees = Array.from({ length: TREES }, (_, number) => {
    const id = number.toString(16).padStart(64, "0");
    const tokens: Token[] = [];
    const isolate = isolates[number % ISOLATES];
    if (!isolate) throw new Error("there is an isolate for each tree");
    let upTo = 0;
    let alarmAt: number | null = null;
    let memory: { readonly outbox: NewTokens; readonly timer: Timer; readonly queue: NewsQueue } | null = null;

    const wake = () => {
      const { queue } = isolate;
      if (memory?.queue === queue) return memory;
      const timer = newTimer();
      const outbox = new NewTokens({
        unlisted: (after, limit) =>
          tokens
            .map(({ row }) => row)
            .filter((row) => row > Math.max(upTo, after))
            .sort((a, b) => a - b)
            .slice(0, limit),
        listed: (row) => {
          upTo = Math.max(upTo, row);
        },
        describe: (rows) => tokens.filter(({ row }) => rows.includes(row)).map(({ accessor }) => entryOf(accessor)),
        tell: (entry) => {
          queue.made(entry, null);
          isolate.timer.in(CALL_DELAY_MS, () => void send(isolate));
        },
        isOnItsWay: (accessor) => queue.isOnItsWay(accessor),
      });
      memory = { outbox, timer, queue };
      if (outbox.refresh(timeline.now)) timer.in(READ_DELAY_MS, look);
      return memory;
    };

    const look = () => {
      const known = memory;
      if (!known || known.queue !== isolate.queue) return;
      if (known.outbox.noteListed(timeline.now)) known.timer.in(READ_DELAY_MS, look);
      known.outbox.handOver();
      if (known.outbox.isOnItsWay) known.timer.in(LOOK_AGAIN_MS, look);
      arm();
    };

    const arm = () => {
      const due = memory?.outbox.backstopAt ?? null;
      if (broken.noBackstop || due === null || (alarmAt !== null && alarmAt <= due)) return;
      alarmAt = due;
      timeline.after(due - timeline.now, () => {
        if (alarmAt !== due) return;
        alarmAt = null;
        const { outbox } = wake();
        if (outbox.backstopAt !== null) {
          outbox.noteListed(timeline.now);
          outbox.handOver();
          void send(isolate);
          outbox.tryAgainAt(timeline.now + RETRY_MS);
        }
        arm();
      });
    };

    const create = () => {
      const { outbox, timer } = wake();
      const drawnAt = EPOCH_MS + timeline.now - random.below(DRAWN_BEFORE_MS);
      const row = firstRowAt(drawnAt) + random.below(4096);
      if (tokens.some((token) => token.row === row)) return;
      const tail = Uint8Array.from({ length: 24 }, () => random.below(256));
      tokens.push({ row, accessor: routedIdText(id, row, tail), answeredAt: timeline.now });
      counts.tokens++;
      if (row <= upTo) upTo = row - 1;
      if (!broken.skipsLateRows) outbox.written(row, timeline.now);
      timer.in(READ_DELAY_MS, look);
      arm();
    };
    return { tokens, create, isolate };
  });

  const check = () => {
    for (const { tokens, isolate } of trees) {
      for (const { accessor, answeredAt } of tokens) {
        const at = listed.get(accessor);
        const excused = Math.max(behindUntil[accessorShardNumber(accessor)] ?? 0, isolate.crashedAt + CRASH_MS);
        const lateBy = (at ?? timeline.now) - answeredAt - FRESHNESS_MS;
        if (at === undefined && lateBy > 0 && timeline.now > excused) {
          throw new Violation("a list has every token two seconds after the answer", timeline.now, { answeredAt });
        }
        if (at !== undefined && lateBy <= 0) counts.longestMs = Math.max(counts.longestMs, at - answeredAt);
      }
    }
  };

  const happen = () => {
    const drawn = random.share();
    if (drawn < 0.9) trees[random.below(TREES)]?.create();
    else if (drawn < 0.96) check();
    // Somebody asks for a list: the isolate tells everything at once.
    else if (drawn < 0.995) void send(isolates[random.below(ISOLATES)] ?? neverThere());
    else {
      counts.crashes++;
      Object.assign(isolates[random.below(ISOLATES)] ?? {}, {
        queue: new NewsQueue(),
        timer: newTimer(),
        crashedAt: timeline.now,
      });
    }
    if (timeline.now < LENGTH_MS) timeline.after(1 + random.below(120), happen);
  };
  timeline.after(0, happen);
  await timeline.runSettled(LENGTH_MS + QUIET_MS);
  const missing = trees.flatMap(({ tokens }) => tokens).filter(({ accessor }) => !listed.has(accessor));
  if (missing.length > 0) {
    throw new Violation("every token comes onto a list", timeline.now, { missing: missing.length });
  }
  return counts;
}

function neverThere(): never {
  throw new Error("the number of an isolate is one");
}

/** A timer that counts until it is over, whoever wants it earlier. */
function firstTimer(timeline: Timeline): Timer {
  let isSet = false;
  return {
    in(ms, work) {
      if (isSet) return;
      isSet = true;
      timeline.after(ms, () => {
        isSet = false;
        work();
      });
    },
  };
}

function entryOf(accessor: string): InventoryEntry {
  return {
    accessor,
    parent: null,
    first: false,
    mount: "token",
    path: "auth/token/create",
    role: "",
    displayName: "token",
    policies: ["default"],
    entityId: "",
    expiresAt: null,
    renewedAt: null,
    numUses: 0,
    usesLeft: 0,
    period: 0,
    explicitMaxTtl: 0,
    children: 0,
    lastUsed: null,
  };
}
