import { currentTime } from "../../base/clock.ts";
import { within } from "../../base/location.ts";
import { cleanUpTrees } from "../../base/turns/clean-up.ts";
import type { Migration } from "../../storage/schema.ts";
import { storedJson } from "../../storage/stored-json.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { type AccessorCredential, decodeStoredId, type TokenAddress } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import type { TokenFilter } from "./filter.ts";
import type { Position } from "./order.ts";
import { pageOfInventory } from "./queries.ts";
import type { RevokedInTree } from "./revoke-in-tree.ts";

export const TOKEN_REVOCATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "jobs that revoke tokens by a filter, and where they stand",
    sql: `
      CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL,
        state TEXT NOT NULL,
        selection TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        finished_at INTEGER,
        expected INTEGER NOT NULL,
        position TEXT,
        revoked INTEGER NOT NULL,
        gone INTEGER NOT NULL,
        spared INTEGER NOT NULL,
        mismatched INTEGER NOT NULL,
        failures TEXT NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX jobs_by_number ON jobs (number);
    `,
  },
];

/** What the alarm does, and the type of its log lines. */
const DUTY = "token revocation";
/** Tokens that one step revokes: with a call to a tree for each, far below the platform's limit of calls. */
const STEP = 200;
/** Pause between two steps (ms), so that requests come in between. */
const PAUSE_MS = 5;
/** Pause after a step that failed (ms). */
const RETRY_MS = 5000;
/** Jobs that are kept. */
const KEPT_JOBS = 100;
/** Steps in a row that may fail before a job is given up. */
const MAX_FAILURES = 20;

/** What a job revokes. */
export interface Selection {
  /** As the client sent it, in JSON. */
  readonly sent: string;
  /** The tokens, by a filter or by name. */
  readonly filter: TokenFilter | null;
  readonly accessors: readonly string[] | null;
  readonly includeRoot: boolean;
  /** The token that stays, with all above it; null: none. */
  readonly spare: TokenAddress | null;
}

export type JobState = "running" | "done" | "stopped" | "failed";

/** A job and where it stands. Times in ms. */
export interface RevocationJob {
  readonly id: string;
  readonly state: JobState;
  readonly selection: Selection;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly expected: number;
  readonly revoked: number;
  /** Tokens that had ended when the job came to them, often with another one that it revoked. */
  readonly gone: number;
  readonly spared: number;
  /** Tokens that the list had for the filter, and that are not meant by what their trees know of them. */
  readonly mismatched: number;
  /** The last steps that failed, and are repeated. */
  readonly failures: readonly string[];
}

interface JobRow extends Record<string, SqlStorageValue> {
  id: string;
  state: JobState;
  selection: string;
  started_at: number;
  finished_at: number | null;
  expected: number;
  /** JSON of a `Position`, or the number of accessors that are done. */
  position: string | null;
  revoked: number;
  gone: number;
  spared: number;
  mismatched: number;
  failures: string;
}

/**
 * Revokes many tokens, a step at a time, one job after the other. Where a job stands is in its row, written after each step:
 * a crash repeats one step, which finds its tokens dead. Tokens that are made after the start are not meant.
 */
export class TokenRevocations extends GroveObject<ListingEnv> {
  constructor(ctx: DurableObjectState, env: ListingEnv) {
    super(ctx, env, TOKEN_REVOCATION_MIGRATIONS);
    this.alarms.add(DUTY, {
      dueAt: () => (this.#next() ? 0 : null),
      run: () => this.#goOn(),
      pauseMs: () => RETRY_MS,
    });
    if (this.#next()) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /** Starts a job and answers with its id. From the answer on it happens, whatever fails meanwhile. */
  async start(selection: Selection, expected: number): Promise<string> {
    const now = currentTime();
    const id = crypto.randomUUID();
    const bounded =
      selection.filter === null
        ? selection
        : { ...selection, filter: { ...selection.filter, createdBefore: beforeNow(selection.filter, now) } };
    this.tables.exec(
      `INSERT INTO jobs (id, number, state, selection, started_at, expected, revoked, gone, spared, mismatched, failures)
       VALUES (?, (SELECT COALESCE(MAX(number), 0) + 1 FROM jobs), 'running', ?, ?, ?, 0, 0, 0, 0, '[]')`,
      id,
      JSON.stringify(bounded),
      now,
      expected,
    );
    this.tables.exec(
      "DELETE FROM jobs WHERE state <> 'running' AND number <= (SELECT MAX(number) FROM jobs) - ?",
      KEPT_JOBS,
    );
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
    return id;
  }

  /** All jobs that are kept, the newest first. */
  list(): RevocationJob[] {
    return this.tables.exec<JobRow>("SELECT * FROM jobs ORDER BY number DESC").toArray().map(jobOf);
  }

  /** The job with this id, or null. */
  read(id: string): RevocationJob | null {
    const row = this.#find(id);
    return row && jobOf(row);
  }

  /** Stops a job that is running, after the step that it is at. What is revoked stays so. Null when there is no such job. */
  stop(id: string): RevocationJob | null {
    if (this.#find(id)?.state === "running") this.#end(id, "stopped");
    return this.read(id);
  }

  /** One step of the oldest job that is running. */
  async #goOn(): Promise<void> {
    const job = this.#next();
    if (!job) return;
    try {
      await this.#step(job);
    } catch (error) {
      this.#failed(job);
      throw new Error(`job ${job.id}: ${String(error)}`);
    }
    this.alarms.pause(DUTY, PAUSE_MS);
  }

  async #step(job: JobRow): Promise<void> {
    const selection = storedJson<Selection>(job.selection);
    const { accessors, next } = await this.#nextTokens(selection, job.position);
    const done = await this.#revoke(selection, accessors);
    this.tables.exec(
      `UPDATE jobs SET position = ?, revoked = revoked + ?, gone = gone + ?, spared = spared + ?,
         mismatched = mismatched + ?, failures = '[]'
       WHERE id = ?`,
      next,
      done.revoked,
      done.gone,
      done.spared,
      done.mismatched,
      job.id,
    );
    if (next === null && this.#find(job.id)?.state === "running") this.#end(job.id, "done");
  }

  /** The tokens of the next step, and the position after them; null at the end. */
  async #nextTokens(
    { filter, accessors }: Selection,
    position: string | null,
  ): Promise<{ accessors: readonly string[]; next: string | null }> {
    if (filter === null) {
      const from = Number(position ?? "0");
      const rest = accessors ?? [];
      const next = from + STEP < rest.length ? String(from + STEP) : null;
      return { accessors: rest.slice(from, from + STEP), next };
    }
    const after = position === null ? null : storedJson<Position>(position);
    const page = await pageOfInventory(
      this.env,
      filter,
      { by: "created", descending: false },
      after,
      STEP,
      currentTime(),
    );
    return {
      accessors: page.tokens.map(({ accessor }) => accessor),
      next: page.next === null ? null : JSON.stringify(page.next),
    };
  }

  async #revoke({ filter, includeRoot, spare }: Selection, accessors: readonly string[]): Promise<RevokedInTree> {
    const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
    const trees = within(this.env, this.env.TOKEN_TREE);
    const treeAt = (treeId: string) => trees.get(trees.idFromString(treeId));
    const byTree = [...Map.groupBy(places, ({ treeId }) => treeId)];
    const mark = ([treeId, of]: [string, AccessorCredential[]]): Promise<RevokedInTree> => {
      const tokens = of.map(({ row, tail }) => ({ row, tail }));
      const spared = spare?.treeId === treeId ? spare.row : null;
      return treeAt(treeId).revokeFiltered({ tokens, filter, includeRoot, spare: spared, sweptByCaller: true });
    };
    const sweep = async ([treeId]: [string, AccessorCredential[]], { revoked }: RevokedInTree): Promise<void> => {
      if (revoked > 0) await treeAt(treeId).sweep();
    };
    const answers = await cleanUpTrees(byTree, { mark, sweep });
    const sum = (name: keyof RevokedInTree) => answers.reduce((total, answer) => total + answer[name], 0);
    return { revoked: sum("revoked"), gone: sum("gone"), spared: sum("spared"), mismatched: sum("mismatched") };
  }

  /** The step is repeated; a job that fails again and again is given up. Messages of errors are in the log alone. */
  #failed(job: JobRow): void {
    const failures = [...storedJson<string[]>(job.failures), `${new Date(currentTime()).toISOString()}: a step failed`];
    this.tables.exec("UPDATE jobs SET failures = ? WHERE id = ?", JSON.stringify(failures), job.id);
    if (failures.length >= MAX_FAILURES && this.#find(job.id)?.state === "running") this.#end(job.id, "failed");
  }

  #end(id: string, state: Exclude<JobState, "running">): void {
    this.tables.exec("UPDATE jobs SET state = ?, finished_at = ? WHERE id = ?", state, currentTime(), id);
  }

  #next(): JobRow | null {
    const running = "SELECT * FROM jobs WHERE state = 'running' ORDER BY number LIMIT 1";
    return this.tables.exec<JobRow>(running).toArray()[0] ?? null;
  }

  #find(id: string): JobRow | null {
    return this.tables.exec<JobRow>("SELECT * FROM jobs WHERE id = ?", id).toArray()[0] ?? null;
  }
}

/** The jobs of this installation. */
export function revocationsOf(env: ListingEnv): DurableObjectStub<TokenRevocations> {
  return within(env, env.TOKEN_REVOCATIONS).getByName("revocations");
}

function beforeNow({ createdBefore }: TokenFilter, now: number): number {
  return Math.min(createdBefore ?? now + 1, now + 1);
}

function jobOf(row: JobRow): RevocationJob {
  return {
    id: row.id,
    state: row.state,
    selection: storedJson<Selection>(row.selection),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expected: row.expected,
    revoked: row.revoked,
    gone: row.gone,
    spared: row.spared,
    mismatched: row.mismatched,
    failures: storedJson<string[]>(row.failures),
  };
}
