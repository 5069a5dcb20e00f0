import type { PagePosition } from "../listing/lease-index.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import type { EndRequest } from "../system/end-request.ts";
import type { WalkMode } from "./actions.ts";
import type { EndJob, LeavingMount, WalkFailure, WalkJob } from "./walk-job.ts";

/** The watermark whose stored tokens a walk revokes. */
export interface WalkWatermark {
  /** Chosen before the System object creates the watermark. */
  readonly id: string;
  readonly createdBefore: number | null;
  /** null until the System object has created the watermark. */
  readonly number: number | null;
  /** From this time on (ms) every isolate that creates a token knows the watermark. The last pass begins then. */
  readonly knownAt: number;
  readonly lastPass: boolean;
}

/** Position of a walk in one shard; null: at the start. */
export type ShardPosition = PagePosition | null | "end";

export interface Walk extends WalkJob, Pick<EndJob, "mount" | "asked"> {
  /** Incremented by every start, so that a step of the previous walk does not move the new one. */
  readonly generation: number;
  /** null: the walk covers everything that is listed below the prefix. */
  readonly watermark: WalkWatermark | null;
  /** Number of entries that were listed at the start; null: not counted, or too many to count. */
  readonly total: number | null;
  /** Number of the phase: the tokens of each group of shards are one, then the secrets of each group. */
  readonly phase: number;
  /** Position in each shard of the group; null: all at the start. */
  readonly shards: readonly ShardPosition[] | null;
  /** True when a tree could not be reached in this pass: another pass follows. */
  readonly incomplete: boolean;
  readonly seen: number;
  readonly failure: WalkFailure | null;
}

export const PASS_START = { phase: 0, shards: null, incomplete: false, seen: 0, failure: null } as const;

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

/** `unit` is the phase. The columns of objects and lists are JSON. */
interface WalkRow extends Record<string, SqlStorageValue> {
  generation: number;
  mode: WalkMode;
  prefix: string;
  mount: string | null;
  unit: number;
  position: string | null;
  incomplete: number;
  seen: number;
  failure: string | null;
  watermark: string | null;
  total: number | null;
  asked: string;
}

/** Stores the walk of one object, as a row that exists while a walk is in progress. */
export class WalkStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  read(): Walk | null {
    const row = this.#tables.exec<WalkRow>("SELECT * FROM walk").toArray()[0];
    if (!row) return null;
    const { generation, mode, prefix, total, unit: phase, seen } = row;
    return {
      ...{ generation, mode, prefix, total, phase, seen },
      mount: parsed<LeavingMount>(row.mount),
      watermark: parsed<WalkWatermark>(row.watermark),
      shards: parsed<readonly ShardPosition[]>(row.position),
      incomplete: row.incomplete === 1,
      failure: parsed<WalkFailure>(row.failure),
      asked: storedJson<EndRequest>(row.asked),
    };
  }

  /** Stores a new walk, in place of one in progress if there is one. A forced walk stays forced. */
  start(job: Pick<Walk, "mode" | "prefix" | "mount" | "asked" | "watermark">): void {
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
      json(job.watermark),
      JSON.stringify(job.asked),
    );
  }

  /** Stores changes of a walk, unless it was restarted meanwhile. Returns the changed walk. */
  change(walk: Walk, changes: Partial<Omit<Walk, "generation" | keyof WalkJob | "mount" | "asked">>): Walk {
    const changed = { ...walk, ...changes };
    this.#tables.exec(
      `UPDATE walk SET unit = ?, position = ?, incomplete = ?, seen = ?, failure = ?, watermark = ?, total = ?
       WHERE generation = ?`,
      changed.phase,
      json(changed.shards),
      changed.incomplete ? 1 : 0,
      changed.seen,
      json(changed.failure),
      json(changed.watermark),
      changed.total,
      walk.generation,
    );
    return changed;
  }
}

function parsed<T>(text: string | null): T | null {
  return text === null ? null : storedJson<T>(text);
}

function json(value: object | null): string | null {
  return value && JSON.stringify(value);
}
