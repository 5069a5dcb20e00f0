import { addNumbers } from "../../base/add-numbers.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import { logInfo } from "../../base/log.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { numberSetting } from "../../base/number-settings.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { columnOf, type Migration, setColumns, storedJson } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { type Installation, mustLoadInstallation } from "../../system/installation.ts";
import { type ListedPart, makePart, sealBackup } from "../export.ts";
import { backupName, backupPlace, manifestKey, partKey } from "../names.ts";
import { classesInOrder } from "../saved-objects.ts";
import { nameOfRun } from "../seals.ts";
import { deleteOld, missingParts } from "./bucket.ts";

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
  {
    version: 2,
    description: "when a client last sealed a backup that it read over the API",
    sql: "CREATE TABLE elsewhere (one INTEGER PRIMARY KEY CHECK (one = 1), began_at INTEGER NOT NULL);",
    readableFrom: 1,
  },
];

export interface BackupRun {
  readonly name: string;
  readonly run: string;
  /** "deleting": the backup is complete, and old backups are being deleted. */
  readonly state: "running" | "deleting" | "done" | "failed";
  readonly startedAt: Ms;
  /** null until all parts are made. */
  readonly finishedAt: Ms | null;
  /** Where the next part begins; null when all parts are made. */
  readonly position: string | null;
  readonly parts: number;
  readonly objects: number;
  readonly rows: number;
  /** Size of all parts after compression. */
  readonly bytes: number;
  readonly failures: number;
  readonly error: string | null;
}

type BackupStatus = Readonly<Record<"running" | "last" | "lastGood", BackupRun | null>> & {
  readonly elsewhereAt: Ms | null;
};

const COLUMNS = `name, run, state, started_at AS startedAt, finished_at AS finishedAt, position, parts, objects, rows, bytes,
  failures, error`;

const IN_PROGRESS = "state IN ('running', 'deleting')";
const COMPLETE = "state IN ('deleting', 'done')";

/** Name of the alarm's duty, and the type of its log lines. */
const DUTY = "backup";
/** Pause between two steps, so that requests are served in between. */
const PAUSE_MS = 25;
/** Pause after a failed step. It doubles with each further failure. */
const RETRY_MS = 10_000;
const MAX_RETRY_MS = 300_000;
const MAX_FAILURES = 10;
const MAX_RUN_MS = 6 * 3_600_000;
/** Tolerance for the hourly trigger, which is not exact. */
const EARLY_MS = 30 * 60_000;
/** Maximum number of parts. The manifest lists them all, and is written in one piece. */
const MAX_PARTS_IN_BUCKET = 50_000;

const TOO_MANY_PARTS = `it has more than ${MAX_PARTS_IN_BUCKET} parts: make it with grove backup --address`;

/**
 * Backups of the installation in an R2 bucket. Each step makes one part, because the platform limits the calls and the
 * duration of an invocation. The run in progress is stored with its parts, so it survives restarts, beside the last run
 * and the last successful one; every step may be repeated. The manifest is written after all parts.
 */
export class BackupRuns extends GroveObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, BACKUP_RUN_MIGRATIONS);
    this.alarms.addJob(DUTY, {
      running: () => this.#newest(IN_PROGRESS),
      step: (run) => this.#goOn(run),
      pauseMs: () => PAUSE_MS,
      retryMs: (failures) => Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS),
    });
  }

  /** Starts a run if the last run failed or started an interval ago. Restores a lost alarm. Safe to repeat. */
  async startWhenDue(): Promise<void> {
    const { running, last } = this.status();
    const next = last && last.state !== "failed" ? last.startedAt + backupIntervalMs(this.env) - EARLY_MS : 0;
    if (running) await this.alarms.restore();
    else if (currentTime() >= next) await this.start();
  }

  /** Starts a run. False when one is in progress. */
  async start(attempt: CallAttempt = {}): Promise<boolean> {
    const { keys } = await mustLoadInstallation(this.env);
    const now = currentTime();
    const run = await nameOfRun(keys, classesInOrder(this.env), now);
    const begun = this.carriedOut.made(attempt, () => this.#begin(run, now));
    if (begun) await this.alarms.set();
    return begun;
  }

  #begin(run: string, now: Ms): boolean {
    const { running, lastGood } = this.status();
    if (running) return false;
    const name = backupName(now);
    const statement = `INSERT INTO runs (name, run, state, started_at, position, parts, objects, rows, bytes, failures)
      VALUES (?, ?, 'running', ?, '', 0, 0, 0, 0, 0)`;
    this.tables.exec(statement, name, run, now);
    this.tables.exec("DELETE FROM runs WHERE name NOT IN (?, ?)", name, lastGood?.name ?? "");
    this.tables.exec("DELETE FROM parts");
    this.alarms.pause(DUTY, 0);
    return true;
  }

  /** Records when a backup began that a client read over the API and had sealed. Safe to repeat. */
  sealedElsewhere(beganAt: Ms): void {
    this.tables.exec("INSERT OR REPLACE INTO elsewhere (one, began_at) VALUES (1, ?)", beganAt);
  }

  /**
   * The run in progress, the last run, and the last run whose backup is complete. `elsewhereAt`: see `sealedElsewhere`;
   * null without such a backup.
   */
  status(): BackupStatus {
    const [elsewhereAt = null] = columnOf<Ms>(this.tables, "SELECT began_at FROM elsewhere");
    const runs = { running: this.#newest(IN_PROGRESS), last: this.#newest("1"), lastGood: this.#newest(COMPLETE) };
    return { ...runs, elsewhereAt };
  }

  async #goOn(run: BackupRun): Promise<void> {
    try {
      const done = await this.#step(run);
      if (!done.ok) this.#giveUp(run, done.error);
    } catch (error) {
      const message = error instanceof StepFailure ? error.message : "a step failed; the log has the error";
      if (run.failures + 1 >= MAX_FAILURES) this.#giveUp(run, message);
      else this.#change(run, { failures: run.failures + 1, error: message });
      throw error;
    }
  }

  /** Ends a run: as failed, or as done if its backup is complete. */
  #giveUp(run: BackupRun, error: string): void {
    const state = run.state === "deleting" ? "done" : "failed";
    this.#change(run, { state, finished_at: run.finishedAt ?? currentTime(), error });
    this.tables.exec("DELETE FROM parts");
    console.error(JSON.stringify({ type: DUTY, name: run.name, error }));
  }

  /** @returns why the run fails. @throws when the step can be repeated. */
  async #step(run: BackupRun): Promise<Result<null, string>> {
    const bucket = this.env.BACKUPS;
    if (!bucket) return err("no R2 bucket is bound as BACKUPS");
    const now = currentTime();
    if (now - run.startedAt > MAX_RUN_MS) return err("it had not ended after six hours");
    const installation = await mustLoadInstallation(this.env);
    if (run.state === "deleting") {
      const isDone = await deleteOld(bucket, installation.clusterId, backupsKept(this.env), now - MAX_RUN_MS);
      if (isDone) this.#change(run, { state: "done", failures: 0, error: null });
      return ok(null);
    }
    return run.position === null
      ? this.#finish(bucket, installation, run)
      : this.#makePart(bucket, installation, run, run.position);
  }

  async #makePart(bucket: R2Bucket, installation: Installation, current: BackupRun, position: string) {
    const { name, run, parts: number } = current;
    if (number >= MAX_PARTS_IN_BUCKET) return err(TOO_MANY_PARTS);
    const made = await makePart(this.env, installation, { run, number, position, until: "", known: "" });
    if (!made.ok && made.error.code === "unavailable") throw new StepFailure(made.error.message);
    if (!made.ok) return err("message" in made.error ? made.error.message : made.error.code);
    const { part, bytes } = made.value;
    if (!bytes) throw new Error("a part was made without its content");
    await bucket.put(partKey(backupPlace(installation.clusterId, name), part.sha256), bytes);
    this.tables.exec("INSERT INTO parts (number, part) VALUES (?, ?)", part.number, JSON.stringify(part));
    const added = { parts: 1, objects: part.objects, rows: part.rows, bytes: bytes.byteLength };
    this.#change(current, { position: part.next, ...addNumbers(added, current), failures: 0, error: null });
    return ok(null);
  }

  async #finish(bucket: R2Bucket, installation: Installation, run: BackupRun): Promise<Result<null, string>> {
    const { name, parts, objects, rows, bytes } = run;
    const place = backupPlace(installation.clusterId, name);
    const stored = columnOf<string>(this.tables, "SELECT part FROM parts ORDER BY number");
    const files = stored.map((part) => storedJson<ListedPart>(part));
    const hashes = files.map(({ sha256 }) => sha256);
    const missing = await missingParts(bucket, place, hashes);
    if (missing.length > 0 || files.length !== parts) {
      return err("parts were deleted from the bucket while it was made");
    }
    const head = await sealBackup(this.env, installation, run.run, parts);
    if (!head.ok) return err("message" in head.error ? head.error.message : head.error.code);
    await bucket.put(manifestKey(place), `${JSON.stringify({ ...head.value, files }, null, 1)}\n`);
    this.#change(run, { state: "deleting", finished_at: currentTime(), failures: 0, error: null });
    this.tables.exec("DELETE FROM parts");
    logInfo(this.env, { type: DUTY, name, parts, objects, rows, bytes });
    return ok(null);
  }

  #change({ name }: BackupRun, columns: Readonly<Record<string, SqlStorageValue>>): void {
    setColumns(this.tables, "runs", columns, "name = ?", name);
  }

  #newest(condition: string): BackupRun | null {
    const query = `SELECT ${COLUMNS} FROM runs WHERE ${condition} ORDER BY name DESC LIMIT 1`;
    return this.tables.exec<BackupRun & Record<string, SqlStorageValue>>(query).toArray()[0] ?? null;
  }
}

/** A failed step that is repeated. Its message is for operators. */
class StepFailure extends Error {}

/** How the object is called in a cluster. */
const RULES = {
  repeated: ["status"],
} as const;

/** The object with the backups of this installation. */
export function backupRunsOf(env: Env): DurableObjectStub<BackupRuns> {
  return objectNamed(env, env.BACKUP_RUNS, "backups", RULES);
}

/** Time between the starts of two backups in the bucket: BACKUP_INTERVAL_HOURS; a day by default, at most a month. */
export function backupIntervalMs({ BACKUP_INTERVAL_HOURS: hours }: Pick<Env, "BACKUP_INTERVAL_HOURS">): Ms {
  return 3_600_000 * numberSetting("BACKUP_INTERVAL_HOURS", hours);
}

/** How many backups stay in the bucket: BACKUP_KEEP; 14 by default. */
export function backupsKept({ BACKUP_KEEP: keep }: Pick<Env, "BACKUP_KEEP">): number {
  return numberSetting("BACKUP_KEEP", keep);
}
