import { addNumbers } from "../../base/add-numbers.ts";
import type { Ms } from "../../base/clock.ts";
import { type Migration, storedJson } from "../../storage/tables.ts";
import type { RevocationOrigin } from "../../system/revocation-origin.ts";
import { type CountState, countedSoFar, isCounted } from "./count-selection.ts";
import type { PlannedEnds } from "./retried-step.ts";
import { NOTHING_REVOKED, type RevokedInTree, type Selection } from "./selection.ts";
import { type FailedTree, notEnded, type SetAsideTree } from "./set-aside-trees.ts";
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
  {
    version: 2,
    description: "trees of a job that failed, while it goes on with the others",
    sql: "ALTER TABLE jobs ADD COLUMN set_aside TEXT;",
  },
];

/**
 * `counted`: a dry run has ended. `refused`: the count is above `Expected`. `incomplete`: the job has ended, but for the
 * tokens of trees that kept failing.
 */
export const JOB_STATES = [
  "counting",
  "counted",
  "refused",
  "running",
  "done",
  "incomplete",
  "stopped",
  "failed",
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Maximum numbers of selected tokens (`count`) and of all tokens (`total`) that a job may end; null: no limit. */
export interface Expected {
  readonly count: number | null;
  readonly total: number | null;
}

/** A selected token that an earlier step ended with an ancestor counts as gone. */
export interface RevocationJob extends RevokedInTree {
  readonly id: string;
  /** True: it counts, and revokes nothing. */
  readonly dry: boolean;
  readonly state: JobState;
  /** The request of the client as JSON, without the accessors. */
  readonly sent: string;
  /** Number of tokens that the request names; 0: it has a filter. */
  readonly named: number;
  /** Who asked, and by which request. */
  readonly asked: RevocationOrigin;
  readonly startedAt: Ms;
  readonly finishedAt: Ms | null;
  readonly expected: Expected;
  /** Tokens that are counted so far. */
  readonly counted: number;
  /** Result of the count, without and with the groups; null until it is complete. */
  readonly numbers: Omit<Tally, "by"> | null;
  readonly tally: Tally | null;
  /** Failures in a row of the current step, which is repeated. */
  readonly failures: readonly string[];
  /** Number of selected tokens in trees that failed, and which and why, as far as they are named. */
  readonly notEnded: ReturnType<typeof notEnded>;
  readonly selection: Selection;
}

export type ListedJob = Omit<RevocationJob, "selection" | "tally">;

/** `position` of a job that has read its whole selection. */
export const AT_END = "null";

/** Stored before the step is performed. */
export interface PlannedStep {
  readonly accessors: readonly string[];
  /** JSON of the `SelectionPosition` after it; null at the end. */
  readonly next: string | null;
  readonly ends: PlannedEnds;
  /** Trees that the step does not call: they failed while it was planned, or were given up. Absent: none. */
  readonly skipped?: readonly FailedTree[];
  /** True for a step that calls the trees that were set aside again. */
  readonly retries?: true;
}

/**
 * JSON: `selection`, `count` (`CountState`), `position` (`SelectionPosition`), `step` (`PlannedStep`), `failures`,
 * `set_aside` (`SetAsideTree[]`).
 */
export type JobRow = Record<keyof RevokedInTree, number> & {
  id: string;
  dry: number;
  state: JobState;
  selection: string;
  started_at: Ms;
  finished_at: Ms | null;
  expected: number | null;
  expected_total: number | null;
  count: string;
  position: string | null;
  step: string | null;
  failures: string;
  set_aside: string | null;
};

export function setAsideOf({ set_aside: stored }: Pick<JobRow, "set_aside">): readonly SetAsideTree[] {
  return stored === null ? [] : storedJson<SetAsideTree[]>(stored);
}

export function jobOf(row: JobRow): RevocationJob {
  const selection = storedJson<Selection>(row.selection);
  const { accessors, ...words } = storedJson<Record<string, unknown>>(selection.sent);
  const isOfOne = selection.accessors?.length === 1;
  const count = storedJson<CountState>(row.count);
  const tally = isCounted(count) ? count.tally : null;
  const { by: _by, ...numbers } = count.tally;
  return {
    ...addNumbers(NOTHING_REVOKED, row),
    id: row.id,
    dry: row.dry === 1,
    state: row.state,
    selection,
    sent: JSON.stringify(isOfOne ? { ...words, accessors } : words),
    named: selection.accessors?.length ?? 0,
    asked: selection.asked,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expected: { count: row.expected, total: row.expected_total },
    counted: countedSoFar(count),
    numbers: tally && numbers,
    tally,
    failures: storedJson<string[]>(row.failures),
    notEnded: notEnded(setAsideOf(row)),
  };
}

/** Returns the limit that the count exceeds; null: none. */
export function grownBeyond({ count, total }: Expected, tally: Tally): "expected_count" | "expected_total" | null {
  if (count !== null && tally.matched > count) return "expected_count";
  return total !== null && tally.total > total ? "expected_total" : null;
}
