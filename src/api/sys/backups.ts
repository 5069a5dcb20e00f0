import { showRoute } from "../../auth/record-routes.ts";
import { type Answered, type OpenRoute, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { type BackupRun, backupIntervalMs, backupRunsOf, backupsKept } from "../../backup/bucket/backup-runs.ts";
import { listBackups } from "../../backup/bucket/bucket.ts";
import { makePart, readPartRequest, readWholeRun, sealBackup } from "../../backup/export.ts";
import { isPlace, keyOfFile } from "../../backup/names.ts";
import { beginRestore, finishRestore, NOT_EMPTY, restorePart } from "../../backup/restore.ts";
import { currentTime, formatRfc3339, formatTime, type Ms, parseRfc3339 } from "../../base/clock.ts";
import { madeOnce } from "../../base/lost-call-retry.ts";
import { err, invalid, NOT_FOUND, ok, type Result, refuse } from "../../base/result.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import type { RestoreWatermarks } from "../../system/system.ts";
import { fieldSchema, NO_FIELDS } from "../../wire/field-schema.ts";
import { integer, pasted, text } from "../../wire/fields.ts";
import { dataReply, doneReply, EMPTY } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";
import { readPastTime } from "../end-tokens.ts";
import { initializerRoute } from "./init.ts";

const FILE = fieldSchema({
  backup: text().describe("The name of the backup."),
  file: text().describe("`manifest`, or the SHA-256 of a part in the manifest."),
});
const STORED = dataAnswer({ backups: ["string"] });
const CONTENT = dataAnswer({ content: "string" });

type Runs = Readonly<Record<"running" | "last" | "lastGood", BackupRun | null>>;

const RUNS_VIEW = view<{ readonly env: Env; readonly runs: Runs }>({
  bucket: ["boolean", ({ env }) => env.BACKUPS !== undefined],
  interval_hours: ["integer", ({ env }) => backupIntervalMs(env) / 3_600_000],
  keep: ["integer", ({ env }) => backupsKept(env)],
  running: ["object | null", ({ runs }) => runs.running && shown(runs.running)],
  last: ["object | null", ({ runs }) => runs.last && shown(runs.last)],
  last_good: ["object | null", ({ runs }) => runs.lastGood && shown(runs.lastGood)],
});

const NO_BUCKET = invalid("no R2 bucket is bound as BACKUPS");
const NOT_NEW = refuse("this deployment was initialized: sys/backup/stored shows its bucket to a token");

const HEAD = {
  run: text().describe("The run that made the backup."),
  parts: integer().describe("Number of its parts."),
  seal: text().describe("The seal of the backup."),
};

const NO_PAST_TIME = invalid(
  "issued_since must be a time that has passed, as in 2026-11-22T01:30:00Z; issued_before takes now to end what was issued before the restore",
);

/**
 * Backups that a client reads part by part, backups in the R2 bucket of a deployment, and their restore into a new deployment,
 * instead of `sys/init` and with the same right. The reference has none of these.
 */
export const BACKUP_ROUTES: readonly Route[] = [
  tokenRoute("update", "sys/backup/part", {
    summary: "Returns the next part of a backup, with a seal.",
    operationId: "backup-read-part",
    answers: dataAnswer({
      run: "string",
      number: "integer",
      position: "string",
      next: "string | null",
      sha256: "string",
      seal: "string",
      restored_first: "boolean",
      objects: "integer",
      rows: "integer",
      content: "string | null",
    }),
    input: fieldSchema({
      run: text().describe("The run, as its first part named it; empty for the first part."),
      number: integer().describe("Number of the part in the run, from 0."),
      position: text().describe("`next` of the previous part; empty for the first part."),
      until: text().describe("Last position at which the part may end; empty for no limit."),
      known: text().describe("SHA-256 of a part that the client has, which is left out of the answer."),
    }),
    prepare: async ({ env, installation, fields }) => {
      const isFirst = fields.number === 0;
      const counts = fields.number >= 0 && isFirst === (fields.run === "");
      return counts
        ? readPartRequest(env, installation, fields)
        : refuse("number must count the parts of a run from 0");
    },
    handle: async ({ env, installation, fields }) => {
      const made = await makePart(env, installation, fields);
      if (!made.ok) return made;
      const { run, part, bytes } = made.value;
      return dataReply({ run, ...part, content: bytes && toBase64(bytes) });
    },
  }),

  tokenRoute("update", "sys/backup/seal", {
    summary: "Seals a backup after its last part, and returns the head of its manifest.",
    operationId: "backup-seal",
    answers: dataAnswer({
      format: "integer",
      run: "string",
      parts: "integer",
      started_at: "string",
      finished_at: "string",
      release: "string",
      cluster_id: "string",
      seal_key_version: "integer",
      key_ring: "string",
      seal: "string",
    }),
    input: fieldSchema({
      run: text().describe("The run."),
      parts: integer().describe("Number of its parts."),
    }),
    prepare: ({ env, installation, fields }) => readWholeRun(env, installation, fields.run, fields.parts),
    handle: async ({ env, installation, fields, prepared }) => {
      const sealed = await sealBackup(env, installation, fields.run, fields.parts);
      if (!sealed.ok) return sealed;
      // Only the health checks need this record: the backup is valid without it.
      await backupRunsOf(env)
        .sealedElsewhere(prepared.began)
        .catch((error: unknown) => console.error(JSON.stringify({ type: "backup", error: String(error) })));
      return dataReply({ ...sealed.value });
    },
  }),

  showRoute("sys/backup/runs", {
    summary: "Shows the running, the last and the last good backup into the bucket.",
    operationId: "backup-read-runs",
    view: RUNS_VIEW,
    read: async ({ env }) => ({ env, runs: await backupRunsOf(env).status() }),
  }),

  simpleRoute("update", "sys/backup/runs", {
    summary: "Starts a backup into the bucket.",
    operationId: "backup-begin-run",
    answers: NO_CONTENT,
    handle: async ({ env }) => {
      if (!env.BACKUPS) return err(NO_BUCKET);
      const begun = await madeOnce(env, async (attempt) => await backupRunsOf(env).start(attempt));
      if (!begun.ok) return begun;
      return begun.value ? ok(EMPTY) : refuse("a backup is under way");
    },
  }),

  simpleRoute("read", "sys/backup/stored", {
    summary: "Lists the newest backups in the bucket, the oldest first.",
    operationId: "backup-list-stored",
    answers: STORED,
    handle: ({ env }) => list(env),
  }),

  tokenRoute("update", "sys/backup/stored/file", {
    summary: "Returns a file of a backup in the bucket, sealed as it is stored.",
    operationId: "backup-read-stored-file",
    answers: CONTENT,
    input: FILE,
    prepare: async ({ fields }) => readFileName(fields.backup, fields.file),
    handle: ({ env, prepared }) => readFile(env, prepared),
  }),

  withInitToken(
    initializerRoute("read", "sys/restore/stored", {
      summary: "Lists the newest backups in the bucket, in a new deployment.",
      operationId: "restore-list-stored",
      answers: STORED,
      input: NO_FIELDS,
      handle: async ({ env, loaded }) => (loaded.ok ? NOT_NEW : list(env)),
    }),
  ),
  withInitToken(
    initializerRoute("update", "sys/restore/stored/file", {
      summary: "Returns a file of a backup in the bucket, in a new deployment.",
      operationId: "restore-read-stored-file",
      answers: CONTENT,
      input: FILE,
      handle: async ({ env, loaded }, { backup, file }) => {
        if (loaded.ok) return NOT_NEW;
        const key = readFileName(backup, file);
        return key.ok ? readFile(env, key.value) : key;
      },
    }),
  ),

  initializerRoute("update", "sys/restore/begin", {
    summary: "Starts a restore, in a new deployment with the same seal key.",
    operationId: "restore-begin",
    answers: NO_CONTENT,
    input: fieldSchema({ ...HEAD, key_ring: pasted().describe("The wrapped key ring.") }),
    async handle({ env, loaded }, { key_ring: keyRing, ...backup }) {
      // The endpoint is open to every caller, so an existing installation must answer without a call to an object.
      if (loaded.ok) return err(NOT_EMPTY);
      return doneReply(await beginRestore(env, backup, keyRing));
    },
  }),

  initializerRoute("update", "sys/restore/part", {
    summary: "Restores a part of the backup, and returns its receipt.",
    operationId: "restore-part",
    answers: dataAnswer({ receipt: "string" }),
    input: fieldSchema({
      number: integer().describe("The number of the part in its run."),
      sha256: text().describe("Its SHA-256."),
      seal: text().describe("Its seal."),
      content: text().describe("Its content, as the backup contains it."),
    }),
    async handle({ env }, part) {
      const receipt = await restorePart(env, part);
      return receipt.ok ? dataReply({ receipt: receipt.value }) : receipt;
    },
  }),

  initializerRoute("update", "sys/restore/finish", {
    summary: "Opens the deployment after the last part.",
    operationId: "restore-finish",
    answers: NO_CONTENT,
    input: fieldSchema({
      ...HEAD,
      proof: text().describe("The XOR of the receipts of all parts, in base64."),
      issued_since: text().describe("Tokens issued at this time or later end."),
      issued_before: text().describe('Tokens issued before this time, or "now", end, except root tokens.'),
    }),
    async handle({ env }, { proof, issued_since: since, issued_before: before, ...backup }) {
      const ends = readEnds(since, before, currentTime());
      return ends.ok ? doneReply(await finishRestore(env, backup, proof, ends.value)) : ends;
    },
  }),
];

/**
 * Refuses the route unless the init token is set. Without it, the first caller may initialize the deployment, but must
 * not read the backups of an earlier installation.
 */
function withInitToken(route: OpenRoute): OpenRoute {
  return {
    ...route,
    handle: async (context) => {
      if (context.env.GROVE_INIT_TOKEN) return route.handle(context);
      const message = "a new deployment shows the backups of its bucket once the secret GROVE_INIT_TOKEN is set";
      return err({ code: "forbidden", message });
    },
  };
}

async function list({ BACKUPS: bucket }: Env): Answered {
  return bucket ? dataReply({ backups: await listBackups(bucket) }) : err(NO_BUCKET);
}

/** Returns the key of a file of a backup in the bucket. */
function readFileName(backup: string, file: string): Result<string> {
  const key = isPlace(backup) ? keyOfFile(backup, file) : null;
  return key ? ok(key) : refuse("backup and file are none that this server names");
}

async function readFile({ BACKUPS: bucket }: Env, key: string): Answered {
  if (!bucket) return err(NO_BUCKET);
  const found = await bucket.get(key);
  return found ? dataReply({ content: toBase64(new Uint8Array(await found.arrayBuffer())) }) : NOT_FOUND;
}

function shown({ name, state, startedAt, finishedAt, parts, objects, rows, bytes, error }: BackupRun) {
  return {
    name,
    state,
    started_at: formatRfc3339(startedAt),
    finished_at: formatTime(finishedAt),
    parts,
    objects,
    rows,
    bytes,
    error,
  };
}

function readEnds(since: string, before: string, now: Ms): Result<RestoreWatermarks> {
  const issuedSince = since === "" ? null : parseRfc3339(since);
  if (since !== "" && (issuedSince === null || issuedSince > now)) return err(NO_PAST_TIME);
  if (before === "") return ok({ issuedSince, issuedBefore: null });
  const issuedBefore = readPastTime(before, "issued_before", now);
  return issuedBefore.ok ? ok({ issuedSince, issuedBefore: issuedBefore.value ?? "now" }) : issuedBefore;
}
