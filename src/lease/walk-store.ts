import type { PagePosition } from "../listing/lease-index.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import type { EndRequest } from "../system/end-request.ts";
import type { WalkMode } from "./actions.ts";
import type { EndJob, LeavingMount, WalkFailure, WalkJob } from "./walk-job.ts";

/** The watermark whose stored tokens a walk revokes. */
export interface WalkWatermark {
  /** Names it before the system has made it. */
  readonly id: string;
  readonly createdBefore: number | null;
  /** null until the system has made it. */
  readonly number: number | null;
  /** From this moment on (ms) every isolate knows the watermark when it makes a token: the last pass begins then. */
  readonly knownAt: number;
  /** True in the last pass. */
  readonly lastPass: boolean;
}

/** Where the walk of one shard stands; null: at its beginning. */
export type ShardPosition = PagePosition | null | "end";

/** A walk that is under way. */
export interface Walk {
  /** Grows with every start, so that a step which began before a restart does not move the new walk. */
  readonly generation: number;
  readonly mode: WalkMode;
  readonly prefix: string;
  readonly mount: LeavingMount | null;
  /** null: whatever is listed below the prefix is meant. */
  readonly watermark: WalkWatermark | null;
  /** Entries that were listed when it began; null: not counted, or too many. */
  readonly total: number | null;
  readonly progress: WalkPosition;
  /** Who asked for the end of the tokens. */
  readonly asked: EndRequest;
}

/** How far a walk is. */
export interface WalkPosition {
  /** What is being walked: the tokens of each group of shards, then the secrets of each. */
  readonly phase: number;
  /** Of each shard of the group; null: all at their beginning. */
  readonly shards: readonly ShardPosition[] | null;
  /** True when a tree could not be reached in this pass: another pass follows. */
  readonly incomplete: boolean;
  /** Leases met. */
  readonly seen: number;
  readonly failure: WalkFailure | null;
}

/** The position at which a pass begins. */
export const PASS_START: WalkPosition = { phase: 0, shards: null, incomplete: false, seen: 0, failure: null };

export const LEASE_WALK_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the walk that is under way",
    sql: `
      CREATE TABLE walk (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        generation INTEGER NOT NULL,
        mode TEXT NOT NULL,
        prefix TEXT NOT NULL,
        mount TEXT,
        unit INTEGER NOT NULL,
        position TEXT,
        incomplete INTEGER NOT NULL,
        seen INTEGER NOT NULL,
        failure TEXT,
        watermark TEXT,
        total INTEGER,
        asked TEXT NOT NULL
      );
    `,
  },
];

interface WalkRow extends Record<string, SqlStorageValue> {
  generation: number;
  mode: WalkMode;
  prefix: string;
  /** JSON of a `LeavingMount`. */
  mount: string | null;
  /** The phase. */
  unit: number;
  /** JSON of the positions of shards. */
  position: string | null;
  /** 1 for true. */
  incomplete: number;
  seen: number;
  /** JSON of a `WalkFailure`. */
  failure: string | null;
  /** JSON of a `WalkWatermark`. */
  watermark: string | null;
  total: number | null;
  /** JSON of an `EndRequest`. */
  asked: string;
}

/** The row of the walk of one object, while one is under way. */
export class WalkStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The walk; null when none is under way. */
  read(): Walk | null {
    const row = this.#tables.exec<WalkRow>("SELECT * FROM walk").toArray()[0];
    return row ? walkOfRow(row) : null;
  }

  /** Stores a walk at its start, also in place of one that is under way. A forced walk stays forced. */
  start(job: WalkJob & Pick<EndJob, "asked" | "mount">, watermark: WalkWatermark | null): void {
    this.#tables.exec(
      `INSERT INTO walk (id, generation, mode, prefix, mount, watermark, asked, unit, incomplete, seen)
       VALUES (1, 1, ?, ?, ?, ?, ?, 0, 0, 0)
       ON CONFLICT (id) DO UPDATE SET
         generation = generation + 1,
         mode = CASE mode WHEN 'force' THEN mode ELSE excluded.mode END,
         mount = COALESCE(excluded.mount, mount),
         watermark = excluded.watermark,
         asked = excluded.asked,
         unit = 0, position = NULL, incomplete = 0, seen = 0, failure = NULL, total = NULL`,
      job.mode,
      job.prefix,
      json(job.mount),
      json(watermark),
      JSON.stringify(job.asked),
    );
  }

  /** Moves the walk on, unless it was started anew meanwhile. */
  move({ generation }: Walk, to: WalkPosition): void {
    this.#tables.exec(
      "UPDATE walk SET unit = ?, position = ?, incomplete = ?, seen = ?, failure = ? WHERE generation = ?",
      to.phase,
      json(to.shards),
      to.incomplete ? 1 : 0,
      to.seen,
      json(to.failure),
      generation,
    );
  }

  /** Notes how many entries the walk goes over, unless the walk was started anew meanwhile. */
  noteTotal({ generation }: Walk, total: number | null): void {
    this.#tables.exec("UPDATE walk SET total = ? WHERE generation = ?", total, generation);
  }

  /** Changes the watermark of the walk, unless the walk was started anew meanwhile. */
  noteWatermark({ generation }: Walk, watermark: WalkWatermark): void {
    this.#tables.exec("UPDATE walk SET watermark = ? WHERE generation = ?", json(watermark), generation);
  }
}

function walkOfRow(row: WalkRow): Walk {
  return {
    generation: row.generation,
    mode: row.mode,
    prefix: row.prefix,
    mount: parsed<LeavingMount>(row.mount),
    watermark: parsed<WalkWatermark>(row.watermark),
    total: row.total,
    asked: storedJson<EndRequest>(row.asked),
    progress: {
      phase: row.unit,
      shards: parsed<readonly ShardPosition[]>(row.position),
      incomplete: row.incomplete === 1,
      seen: row.seen,
      failure: parsed<WalkFailure>(row.failure),
    },
  };
}

function parsed<T>(text: string | null): T | null {
  return text === null ? null : storedJson<T>(text);
}

function json(value: object | null): string | null {
  return value && JSON.stringify(value);
}
