import { currentTime, type Ms } from "../base/clock.ts";
import type { LeasePosition } from "../listing/lease-index.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, storedJson, type Tables } from "../storage/tables.ts";
import type { RevocationOrigin } from "../system/revocation-origin.ts";
import type { WalkMode } from "./actions.ts";

/** A mount that is being disabled or moved. */
export interface LeavingMount {
  /** The path that it leaves, with a trailing slash. */
  readonly path: string;
  readonly uuid: string;
  readonly type: string;
  /** Id and new path of the move; absent when the mount is being disabled. */
  readonly move?: {
    readonly id: string;
    readonly to: string;
    /** The id under which it issues tokens at the old path. */
    readonly issuer: string;
  };
}

/** A job on all leases below a path prefix. */
export interface WalkJob {
  readonly mode: WalkMode;
  /** Ends with a slash, so it matches whole segments; "" matches every path. */
  readonly prefix: string;
}

/** A job that ends tokens by a watermark: at once, in constant time. */
export interface EndJob extends WalkJob {
  /** Only tokens created before this time end; null: all existing tokens. */
  readonly createdBefore: Ms | null;
  /** The mount that is disabled or moved together with the end of its tokens; null for none. */
  readonly mount: LeavingMount | null;
  /** Origin of the request, stored with the end of the tokens. */
  readonly asked: RevocationOrigin;
}

/** A lease whose revocation failed. `number` is its position among the leases of the walk, from 1. */
export interface WalkFailure {
  readonly leaseId: string;
  readonly number: number;
  readonly error: string;
}

/** State of a walk at the end of the time that a request waited for it. */
export interface WalkProgress {
  readonly finished: boolean;
  /** The first failure, and `of`, the number of leases that the walk has processed; null without a failure. */
  readonly failure: (WalkFailure & { readonly of: number }) | null;
}

/** The watermark whose stored tokens a walk revokes. */
export interface WalkWatermark extends Pick<EndJob, "createdBefore"> {
  /** Chosen before the System object creates the watermark. */
  readonly id: string;
  /** null until the System object has created the watermark. */
  readonly number: number | null;
  /** From this time on every isolate that creates a token knows the watermark. The last pass begins then. */
  readonly knownAt: Ms;
  readonly lastPass: boolean;
}

/** Position of a walk in one shard; null: at the start. */
export type ShardPosition = LeasePosition | null | "end";

export interface Walk extends WalkJob, Pick<EndJob, "mount" | "asked"> {
  /**
   * Greater with every start, so that what is under way for an earlier walk does not touch the new one. Not below the time,
   * because the row of the earlier walk may be deleted.
   */
  readonly generation: number;
  /** null: the walk covers everything that is listed below the prefix. */
  readonly watermark: WalkWatermark | null;
  /** Number of entries that were listed at the start; null: not counted, or too many to count. */
  readonly total: number | null;
  /**
   * Number of the phase: there is one for the tokens of each group of shards, then one for the secrets of each group.
   */
  readonly phase: number;
  /** Position in each shard of the group; null: all at the start. */
  readonly shards: readonly ShardPosition[] | null;
  /** True when a tree could not be reached in this pass: another pass follows. */
  readonly incomplete: boolean;
  /** Number of entries of the index that were processed, in all passes. */
  readonly seen: number;
  readonly failure: WalkFailure | null;
}

/** Progress of the clean-up after a watermark. */
export type EndProgress = Pick<Walk, "seen" | "total">;

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
  {
    version: 2,
    description: "the seal of the walk",
    sql: "ALTER TABLE walk ADD COLUMN seal BLOB;",
    readableFrom: 1,
  },
];

/**
 * The seal covers what the walk does, and not how far it is. A forged walk could have the System object disable a
 * mount, or move it and seal it again at the new path.
 */
const SHAPE: TableShape = {
  table: "walk",
  kind: "lease walk",
  key: ["id"],
  sealed: ["mode", "prefix", "mount", "watermark", "asked"],
};

/** `unit` is the phase. The columns of objects and lists are JSON. */
type WalkRow = Pick<Walk, "generation" | "mode" | "prefix" | "seen" | "total"> & {
  id: number;
  mount: string | null;
  unit: number;
  position: string | null;
  incomplete: number;
  failure: string | null;
  watermark: string | null;
  asked: string;
};

type WalkChanges = Partial<Omit<Walk, "generation" | keyof WalkJob | "mount" | "asked">>;

/** The walk of an object: a row that exists while it is in progress. A row that was tampered with counts as absent. */
export class WalkStore {
  readonly #rows: SealedTable<WalkRow>;

  constructor(tables: Tables, seals: RowSeals) {
    this.#rows = new SealedTable(tables, seals, SHAPE);
  }

  read(): Walk | null {
    const row = this.#rows.find(1);
    if (!row) return null;
    const { generation, mode, prefix, total, unit: phase, seen } = row;
    return {
      ...{ generation, mode, prefix, total, phase, seen },
      mount: parsed<LeavingMount>(row.mount),
      watermark: parsed<WalkWatermark>(row.watermark),
      shards: parsed<readonly ShardPosition[]>(row.position),
      incomplete: row.incomplete === 1,
      failure: parsed<WalkFailure>(row.failure),
      asked: storedJson<RevocationOrigin>(row.asked),
    };
  }

  /**
   * Stores a new walk, in place of one in progress if there is one. A forced walk stays forced, and one without a
   * watermark stays without: it may have been answered, and revokes more. Returns the new walk.
   */
  start(job: Pick<Walk, keyof WalkJob | "mount" | "asked" | "watermark">): Walk {
    const before = this.read();
    const mode = before?.mode === "force" ? before.mode : job.mode;
    const watermark = before?.watermark === null ? null : job.watermark;
    const generation = Math.max((before?.generation ?? 0) + 1, currentTime());
    const mount = job.mount ?? before?.mount ?? null;
    const walk: Walk = { ...job, ...PASS_START, mode, watermark, generation, mount, total: null };
    this.#put(walk);
    return walk;
  }

  /** Stores changes of a walk, unless it was restarted meanwhile. Returns the changed walk. */
  change(walk: Walk, changes: WalkChanges): Walk {
    const changed = { ...walk, ...changes };
    if (this.read()?.generation === walk.generation) this.#put(changed);
    return changed;
  }

  #put({ phase, shards, incomplete, mount, watermark, failure, asked, ...columns }: Walk): void {
    this.#rows.put({
      ...columns,
      id: 1,
      unit: phase,
      position: json(shards),
      incomplete: incomplete ? 1 : 0,
      mount: json(mount),
      watermark: json(watermark),
      failure: json(failure),
      asked: JSON.stringify(asked),
    });
  }
}

function parsed<T>(text: string | null): T | null {
  return text === null ? null : storedJson<T>(text);
}

function json(value: object | null): string | null {
  return value && JSON.stringify(value);
}
