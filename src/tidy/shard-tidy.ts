import { DurableObject } from "cloudflare:workers";
import { currentTime } from "../base/clock.ts";
import { within } from "../base/location.ts";
import type { AgedTerm } from "../crypto/key-terms.ts";
import type { Env } from "../env.ts";
import { pendingAlarm } from "../storage/pending-alarm.ts";
import { type Migration, Schema } from "../storage/schema.ts";
import { termsToDrop } from "../system/key-rotation.ts";
import { ACCESSOR_SHARDS } from "../tree/index/accessor-shard.ts";
import { isOneProcess } from "../tree/live-tokens.ts";
import { addToReport, NO_REPORT, type TidyReport } from "../tree/tidy/report.ts";
import { TREES_PER_STEP, tidyPage, tidyTrees } from "./list-steps.ts";
import type { ListPosition } from "./lists.ts";
import { nextCheckAt, pauseAfter, shareOf } from "./pace.ts";
import type { StepDone, TreeWork } from "./tidy-store.ts";

/** The schema of the check of one shard. */
export const SHARD_TIDY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the shard that is checked, and where its check stands",
    sql: "CREATE TABLE progress (shard INTEGER PRIMARY KEY, state TEXT NOT NULL);",
  },
];

/** Time from the beginning of one check to that of the next (ms), when it does not take longer. */
export const CHECK_INTERVAL_MS = 3_600_000;
/** Pause after a step that failed, for example because the shard did not answer (ms). */
const RETRY_MS = 30_000;

/** A check of the whole list of one shard. Times in ms. */
export interface ShardCheck {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly report: TidyReport;
  /** Versions of terms of keys that it looked for, and of those that something needs. */
  readonly aged: readonly number[];
  readonly needed: readonly number[];
}

/** A check in progress. */
interface RunningCheck {
  /** Trees go through their own rows once for all checks with the same number. */
  readonly number: number;
  readonly startedAt: number;
  /** What is read next; null when the list is through. */
  readonly position: ListPosition | null;
  /** Trees that have more to do; they come before the next page. */
  readonly work: readonly TreeWork[];
  readonly report: TidyReport;
  /** Terms of keys that may go when nothing needs them, and the versions of those that something does. */
  readonly aged: readonly AgedTerm[];
  readonly needed: readonly number[];
}

interface Progress {
  readonly running: RunningCheck | null;
  /** When the last check began; null before the first. */
  readonly lastStartedAt: number | null;
  readonly lastNumber: number;
}

/**
 * Checks one shard of the list of accessors, again and again, a page at a time: the trees of the page say which of its entries have
 * no token, and repair their own rows. It works for a bounded share of the time and by its own alarm, so that no object visits
 * all trees; the shard itself is only asked for a page, and to drop what is gone. Where it stands is one row, written after each
 * step: every step may be repeated.
 */
export class ShardTidy extends DurableObject<Env> {
  readonly #schema: Schema;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#schema = new Schema(ctx.storage.sql, SHARD_TIDY_MIGRATIONS);
  }

  /** Makes sure that the shard with this number is checked. Safe to repeat. */
  async keepSchedule(shard: number): Promise<void> {
    this.#schema.create();
    const none: Progress = { running: null, lastStartedAt: null, lastNumber: 0 };
    this.ctx.storage.sql.exec(
      "INSERT OR IGNORE INTO progress (shard, state) VALUES (?, ?)",
      shard,
      JSON.stringify(none),
    );
    const now = currentTime();
    if ((await pendingAlarm(this.ctx.storage, now)) === null) await this.ctx.storage.setAlarm(this.#nextAlarm(0, now));
  }

  /** One step of the check in progress, or of the one that is due. */
  override async alarm(): Promise<void> {
    const began = currentTime();
    try {
      await this.#step(began);
    } catch (error) {
      // The platform gives up after some retries of its own; a check must not.
      console.error(JSON.stringify({ type: "tidy", shard: this.#read()?.shard ?? null, error: String(error) }));
      await this.ctx.storage.setAlarm(currentTime() + RETRY_MS);
      return;
    }
    const now = currentTime();
    await this.ctx.storage.setAlarm(this.#nextAlarm(now - began, now));
  }

  async #step(now: number): Promise<void> {
    const stored = this.#read();
    if (!stored) return;
    const { shard, progress } = stored;
    const running = progress.running ?? beginCheck(shard, progress, now, await termsToDrop(this.env, now));
    const { work, position } = running;
    if (work.length > 0) {
      const some = work.slice(0, TREES_PER_STEP);
      const { left, done } = await tidyTrees(this.env, running, some);
      const after = { ...withDone(running, done), work: [...work.slice(some.length), ...left] };
      return this.#write(shard, { ...progress, running: after });
    }
    if (position) {
      const { next, left, done } = await tidyPage(this.env, running, position);
      const isThrough = next === null || next.list !== position.list || next.shard !== shard;
      const after = { ...withDone(running, done), position: isThrough ? null : next, work: left };
      return this.#write(shard, { ...progress, running: after });
    }
    const { number, startedAt, report, needed } = running;
    // Told before it is noted here: a crash in between tells it twice, which changes nothing.
    const tidy = within(this.env, this.env.TIDY).getByName("tidy");
    const aged = running.aged.map(({ version }) => version);
    await tidy.shardChecked(shard, { startedAt, finishedAt: now, report, aged, needed });
    this.#write(shard, { running: null, lastStartedAt: startedAt, lastNumber: number });
  }

  #nextAlarm(workedMs: number, now: number): number {
    const progress = this.#read()?.progress;
    if (progress?.running) return now + pauseAfter(workedMs, shareOf(isOneProcess(this.env), ACCESSOR_SHARDS));
    return nextCheckAt(progress?.lastStartedAt ?? null, CHECK_INTERVAL_MS, now);
  }

  #read(): { readonly shard: number; readonly progress: Progress } | null {
    if (!this.#schema.exists) return null;
    const row = this.ctx.storage.sql.exec<{ shard: number; state: string }>("SELECT * FROM progress").toArray()[0];
    return row ? { shard: row.shard, progress: JSON.parse(row.state) as Progress } : null;
  }

  #write(shard: number, progress: Progress): void {
    this.ctx.storage.sql.exec("UPDATE progress SET state = ? WHERE shard = ?", JSON.stringify(progress), shard);
  }
}

/** A check that begins at `now` (ms). Those of all shards that begin in the same hour have the same number. */
function beginCheck(shard: number, { lastNumber }: Progress, now: number, aged: readonly AgedTerm[]): RunningCheck {
  return {
    number: Math.max(Math.floor(now / CHECK_INTERVAL_MS), lastNumber + 1),
    startedAt: now,
    position: { list: "accessors", shard, after: "" },
    work: [],
    report: NO_REPORT,
    aged,
    needed: [],
  };
}

function withDone(check: RunningCheck, { report, needed }: StepDone): RunningCheck {
  return {
    ...check,
    report: addToReport(check.report, report),
    needed: [...new Set([...check.needed, ...needed])],
  };
}

/** The object that checks the shard with this number. */
export function shardTidy(env: Env, shard: number): DurableObjectStub<ShardTidy> {
  return within(env, env.SHARD_TIDY).getByName(`accessors-${shard}`);
}

/** Makes sure that every shard is checked. A shard that fails is tried again with the next call. */
export async function keepShardsChecked(env: Env): Promise<void> {
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, shard) => shard);
  const kept = await Promise.allSettled(shards.map((shard) => shardTidy(env, shard).keepSchedule(shard)));
  for (const [shard, { status }] of kept.entries()) {
    if (status === "rejected")
      console.error(JSON.stringify({ type: "tidy", shard, error: "its check could not be planned" }));
  }
}
