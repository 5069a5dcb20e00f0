import { columnOf, type Migration, storedJson, type Tables } from "../../storage/tables.ts";
import type { ListedPart } from "../make.ts";

export const BACKUP_RUN_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "backups into the bucket, and the parts of the one in progress",
    sql: `
      CREATE TABLE runs (
        name TEXT PRIMARY KEY,
        run TEXT NOT NULL,
        state TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        finished_at INTEGER,
        position TEXT,
        parts INTEGER NOT NULL,
        objects INTEGER NOT NULL,
        rows INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        error TEXT
      );
      CREATE TABLE parts (number INTEGER PRIMARY KEY, part TEXT NOT NULL);
    `,
  },
];

/** State of a run. "deleting": the backup is complete, and old backups are being deleted. */
export type RunState = "running" | "deleting" | "done" | "failed";

/** A backup into the bucket. Times in ms. */
export interface BackupRun {
  readonly name: string;
  /** See `nameOfRun`. */
  readonly run: string;
  readonly state: RunState;
  readonly startedAt: number;
  /** null until all parts are made. */
  readonly finishedAt: number | null;
  /** Where the next part begins; null when all parts are made. */
  readonly position: string | null;
  readonly parts: number;
  readonly objects: number;
  readonly rows: number;
  /** Size of all parts after compression. */
  readonly bytes: number;
  /** Number of consecutive failures of a step. */
  readonly failures: number;
  /** The last problem; null for none. */
  readonly error: string | null;
}

/** Stores the run in progress with its parts, the last run, and the last successful run. */
export class RunStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** The run in progress, or null. */
  running(): BackupRun | null {
    return this.#newest("state IN ('running', 'deleting')");
  }

  /** The run that started last, or null. */
  last(): BackupRun | null {
    return this.#newest("1");
  }

  /** The last run whose backup is complete, or null. */
  lastGood(): BackupRun | null {
    return this.#newest("state IN ('deleting', 'done')");
  }

  /** Starts a run at `now` (ms). */
  begin(name: string, run: string, now: number): void {
    const good = this.lastGood()?.name ?? "";
    const statement = `INSERT INTO runs (name, run, state, started_at, position, parts, objects, rows, bytes, failures)
      VALUES (?, ?, 'running', ?, '', 0, 0, 0, 0, 0)`;
    this.#tables.exec(statement, name, run, now);
    this.#tables.exec("DELETE FROM runs WHERE name NOT IN (?, ?)", name, good);
    this.#tables.exec("DELETE FROM parts");
  }

  /** Adds a part that was written to the bucket. @param bytes its size after compression. */
  partMade(name: string, part: ListedPart, bytes: number): void {
    this.#tables.exec("INSERT INTO parts (number, part) VALUES (?, ?)", part.number, JSON.stringify(part));
    const statement = `UPDATE runs SET position = ?, parts = parts + 1, objects = objects + ?, rows = rows + ?,
      bytes = bytes + ?, failures = 0, error = NULL WHERE name = ?`;
    this.#tables.exec(statement, part.next, part.objects, part.rows, bytes, name);
  }

  /** The parts of the run in progress. */
  parts(): ListedPart[] {
    const parts = columnOf<string>(this.#tables, "SELECT part FROM parts ORDER BY number");
    return parts.map((part) => storedJson<ListedPart>(part));
  }

  /** The backup is complete since `now` (ms). */
  complete({ name }: BackupRun, now: number): void {
    const set = "state = 'deleting', finished_at = ?, failures = 0, error = NULL";
    this.#tables.exec(`UPDATE runs SET ${set} WHERE name = ?`, now, name);
    this.#tables.exec("DELETE FROM parts");
  }

  /** The old backups are deleted. */
  done({ name }: BackupRun): void {
    this.#tables.exec("UPDATE runs SET state = 'done', failures = 0, error = NULL WHERE name = ?", name);
  }

  /** Counts a failure of a step. */
  stepFailed({ name }: BackupRun, error: string): void {
    this.#tables.exec("UPDATE runs SET failures = failures + 1, error = ? WHERE name = ?", error, name);
  }

  /** Ends a run at `now` (ms): as failed, or as done if its backup is complete. */
  giveUp({ name, state }: BackupRun, error: string, now: number): void {
    const ended = state === "deleting" ? "done" : "failed";
    const statement = "UPDATE runs SET state = ?, finished_at = COALESCE(finished_at, ?), error = ? WHERE name = ?";
    this.#tables.exec(statement, ended, now, error, name);
    this.#tables.exec("DELETE FROM parts");
  }

  #newest(condition: string): BackupRun | null {
    const times = "started_at AS startedAt, finished_at AS finishedAt";
    const columns = `name, run, state, ${times}, position, parts, objects, rows, bytes, failures, error`;
    const query = `SELECT ${columns} FROM runs WHERE ${condition} ORDER BY name DESC LIMIT 1`;
    return this.#tables.exec<BackupRun & Record<string, SqlStorageValue>>(query).toArray()[0] ?? null;
  }
}
