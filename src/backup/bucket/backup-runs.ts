import { currentTime } from "../../base/clock.ts";
import { within } from "../../base/location.ts";
import { logInfo } from "../../base/log.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { type Installation, mustLoadInstallation } from "../../system/installation.ts";
import { listedPart, makePart, sealBackup } from "../make.ts";
import { backupName } from "../names.ts";
import { readPosition } from "../part.ts";
import { nameOfRun } from "../seals.ts";
import { deleteOld, missingParts, putFile } from "./bucket.ts";
import { MANIFEST } from "./place.ts";
import { BACKUP_RUN_MIGRATIONS, type BackupRun, RunStore } from "./run-store.ts";
import { backupIntervalMs, backupsKept } from "./settings.ts";

/** What the alarm does, and the type of its log lines. */
const DUTY = "backup";
/** Pause between two steps (ms), so that requests come in between. */
const PAUSE_MS = 25;
/** Pause after a step that failed (ms), twice as long after each further one. */
const RETRY_MS = 10_000;
const MAX_RETRY_MS = 300_000;
/** A run is given up after so many failures of a step in a row. */
const MAX_FAILURES = 10;
/** A run that is older (ms) is given up: a backup is of one time. */
const MAX_RUN_MS = 6 * 3_600_000;
/** The hourly trigger comes a little earlier or later (ms). */
const EARLY_MS = 30 * 60_000;
/** Parts of a backup. Its manifest names all of them, and is written in one piece. */
const MAX_PARTS_IN_BUCKET = 50_000;

const NO_BUCKET = "no R2 bucket is bound as BACKUPS";
const TOO_OLD = "it had not ended after six hours";
const TOO_MANY_PARTS = `it has more than ${MAX_PARTS_IN_BUCKET} parts: make it with grove backup --address`;
const STEP_FAILED = "a step failed; the log has the error";
const PARTS_MISSING = "parts were deleted from the bucket while it was made";

/** What can be read about backups into the bucket. */
export interface BackupRunsStatus {
  readonly running: BackupRun | null;
  readonly last: BackupRun | null;
  readonly lastGood: BackupRun | null;
}

/**
 * Makes backups of the installation in an R2 bucket. Each step makes one part, as the platform bounds what one invocation may call and
 * how long it may take. Where a run stands is in the rows, so it survives restarts; every step may be repeated. The manifest is written
 * once all parts are there.
 */
export class BackupRuns extends GroveObject<Env> {
  readonly #store = new RunStore(this.tables);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, BACKUP_RUN_MIGRATIONS);
    this.alarms.add(DUTY, {
      dueAt: () => (this.#store.running() ? 0 : null),
      run: () => this.#goOn(),
      pauseMs: (failures) => Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS),
    });
  }

  /** Begins a run when the last one was begun an interval ago, or failed. Sets a lost alarm again. Safe to repeat. */
  async startWhenDue(): Promise<void> {
    const last = this.#store.last();
    const next = last && last.state !== "failed" ? last.startedAt + backupIntervalMs(this.env) - EARLY_MS : 0;
    if (this.#store.running()) await this.alarms.restore();
    else if (currentTime() >= next) await this.start();
  }

  /** Begins a run. False when one is in progress. */
  async start(): Promise<boolean> {
    const { keys } = await mustLoadInstallation(this.env);
    const now = currentTime();
    const run = await nameOfRun(keys, now);
    if (this.#store.running()) return false;
    this.#store.begin(backupName(now), run, now);
    this.alarms.pause(DUTY, 0);
    await this.alarms.set();
    return true;
  }

  /** The run in progress, and how the last ones went. */
  status(): BackupRunsStatus {
    return { running: this.#store.running(), last: this.#store.last(), lastGood: this.#store.lastGood() };
  }

  async #goOn(): Promise<void> {
    const run = this.#store.running();
    if (!run) return;
    try {
      const done = await this.#step(run);
      if (!done.ok) this.#giveUp(run, done.error);
    } catch (error) {
      const message = error instanceof StepFailure ? error.message : STEP_FAILED;
      if (run.failures + 1 >= MAX_FAILURES) this.#giveUp(run, message);
      else this.#store.stepFailed(run, message);
      throw error;
    }
    this.alarms.pause(DUTY, PAUSE_MS);
  }

  #giveUp(run: BackupRun, error: string): void {
    this.#store.giveUp(run, error, currentTime());
    console.error(JSON.stringify({ type: DUTY, name: run.name, error }));
  }

  /** @returns why the run can't go on. @throws when the step is to be repeated. */
  async #step(run: BackupRun): Promise<Result<null, string>> {
    const bucket = this.env.BACKUPS;
    if (!bucket) return err(NO_BUCKET);
    const now = currentTime();
    if (now - run.startedAt > MAX_RUN_MS) return err(TOO_OLD);
    const installation = await mustLoadInstallation(this.env);
    if (run.state === "deleting") {
      if (await deleteOld(bucket, installation.clusterId, backupsKept(this.env), now - MAX_RUN_MS))
        this.#store.done(run);
      return ok(null);
    }
    return run.position === null
      ? this.#finish(bucket, installation, run)
      : this.#makePart(bucket, installation, run, run.position);
  }

  async #makePart(
    bucket: R2Bucket,
    installation: Installation,
    run: BackupRun,
    position: string,
  ): Promise<Result<null, string>> {
    if (run.parts >= MAX_PARTS_IN_BUCKET) return err(TOO_MANY_PARTS);
    const from = readPosition(position);
    if (!from) return err("where it stands can't be read");
    const wanted = { run: run.run, number: run.parts, from, until: "", known: "" };
    const made = await makePart(this.env, installation, wanted);
    if (!made.ok && made.error.code === "unavailable") throw new StepFailure(made.error.message);
    if (!made.ok) return err(textOf(made.error));
    const { bytes, sha256 } = made.value;
    if (!bytes) throw new Error("a part was made without its content");
    await putFile(bucket, placeOf(installation, run), sha256, bytes);
    this.#store.partMade(run, listedPart(made.value, position), bytes.byteLength);
    return ok(null);
  }

  async #finish(bucket: R2Bucket, installation: Installation, run: BackupRun): Promise<Result<null, string>> {
    const place = placeOf(installation, run);
    const files = this.#store.parts();
    const missing = await missingParts(
      bucket,
      place,
      files.map(({ sha256 }) => sha256),
    );
    if (missing.length > 0 || files.length !== run.parts) return err(PARTS_MISSING);
    const head = await sealBackup(this.env, installation, run.run, run.parts);
    if (!head.ok) return err(textOf(head.error));
    await putFile(bucket, place, MANIFEST, `${JSON.stringify({ ...head.value, files }, null, 1)}\n`);
    this.#store.whole(run, currentTime());
    const { name, parts, objects, rows, bytes } = run;
    logInfo(this.env, { type: DUTY, name, parts, objects, rows, bytes });
    return ok(null);
  }
}

/** A step that is repeated, with what operators may read about it. */
class StepFailure extends Error {}

function textOf(failure: Failure): string {
  return "message" in failure ? failure.message : failure.code;
}

function placeOf({ clusterId }: Installation, { name }: BackupRun) {
  return { clusterId, name };
}

/** The backups into the bucket of this installation. */
export function backupRunsOf(env: Env): DurableObjectStub<BackupRuns> {
  return within(env, env.BACKUP_RUNS).getByName("backups");
}
