import { type Migration, storedJson } from "../../storage/tables.ts";
import type { EndRequest } from "../../system/end-request.ts";
import { type CountState, countedSoFar, isCounted } from "./counting.ts";
import { addRevoked, NOTHING_REVOKED, type RevokedInTree, type Selection } from "./selection.ts";
import type { Tally } from "./tally.ts";

export const TOKEN_REVOCATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "jobs that count and revoke tokens by a filter, and where they stand",
    sql: `
      CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL,
        dry INTEGER NOT NULL,
        state TEXT NOT NULL,
        selection TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        finished_at INTEGER,
        expected INTEGER,
        expected_total INTEGER,
        count TEXT NOT NULL,
        position TEXT,
        step TEXT,
        revoked INTEGER NOT NULL,
        total INTEGER NOT NULL,
        gone INTEGER NOT NULL,
        spared INTEGER NOT NULL,
        mismatched INTEGER NOT NULL,
        failures TEXT NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX jobs_by_number ON jobs (number);
    `,
  },
];

/** `counted`: a dry run has ended. `refused`: the count is above `Expected`. */
export type JobState = "counting" | "counted" | "refused" | "running" | "done" | "stopped" | "failed";

/** Maximum numbers of selected tokens (`count`) and of all tokens (`total`) that a job may end; null: no limit. */
export interface Expected {
  readonly count: number | null;
  readonly total: number | null;
}

/**
 * A job as a list contains it. Times in ms. A token that ended in an earlier step, with one above it, counts as gone.
 */
export interface ListedJob extends RevokedInTree {
  readonly id: string;
  /** True: it counts, and revokes nothing. */
  readonly dry: boolean;
  readonly state: JobState;
  /** The request of the client as JSON, without the accessors. */
  readonly sent: string;
  /** Number of tokens that the request names; 0: it has a filter. */
  readonly named: number;
  /** Who asked, and by which request. */
  readonly asked: EndRequest;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly expected: Expected;
  /** Number of tokens that are counted so far. */
  readonly counted: number;
  /** Result of the count; null until it is complete. */
  readonly numbers: Omit<Tally, "by"> | null;
  /** Failures in a row of the current step, which is repeated. */
  readonly failures: readonly string[];
}

/** A job with all of its data. */
export interface RevocationJob extends ListedJob {
  readonly selection: Selection;
  /** Result of the count, with the groups; null until it is complete. */
  readonly tally: Tally | null;
}

/** The plan of a step, stored before the step is performed. */
export interface PlannedStep {
  readonly accessors: readonly string[];
  /** JSON of the `SelectionPosition` after it; null at the end. */
  readonly next: string | null;
  /** Numbers of tokens that it will end, by tree id. Several items of one tree add up. */
  readonly ends: readonly (readonly [treeId: string, revoked: number, total: number])[];
}

export interface JobRow extends Record<string, SqlStorageValue>, RevokedInTree {
  id: string;
  dry: number;
  state: JobState;
  selection: string;
  started_at: number;
  finished_at: number | null;
  expected: number | null;
  expected_total: number | null;
  /** JSON of a `CountState`. */
  count: string;
  /** JSON of a `SelectionPosition`. */
  position: string | null;
  /** JSON of the `PlannedStep` in progress. */
  step: string | null;
  failures: string;
}

export function jobOf(row: JobRow): RevocationJob {
  const selection = storedJson<Selection>(row.selection);
  const { accessors: _, ...words } = storedJson<Record<string, unknown>>(selection.sent);
  const count = storedJson<CountState>(row.count);
  const tally = isCounted(count) ? count.tally : null;
  const { by: _by, ...numbers } = count.tally;
  return {
    ...addRevoked(NOTHING_REVOKED, row),
    id: row.id,
    dry: row.dry === 1,
    state: row.state,
    selection,
    sent: JSON.stringify(words),
    named: selection.accessors?.length ?? 0,
    asked: selection.asked,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expected: { count: row.expected, total: row.expected_total },
    counted: countedSoFar(count),
    numbers: tally && numbers,
    tally,
    failures: storedJson<string[]>(row.failures),
  };
}

export function listedJobOf(row: JobRow): ListedJob {
  const { selection: _, tally: _tally, ...listed } = jobOf(row);
  return listed;
}

/** Returns the limit that the count exceeds; null: none. */
export function grownBeyond({ count, total }: Expected, tally: Tally): "expected_count" | "expected_total" | null {
  if (count !== null && tally.matched > count) return "expected_count";
  return total !== null && tally.total > total ? "expected_total" : null;
}
