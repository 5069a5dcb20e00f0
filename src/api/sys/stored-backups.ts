import { readRoute } from "../../auth/record-routes.ts";
import { type OpenContext, openRoute, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, describeFields, NO_CONTENT } from "../../auth/route-description.ts";
import { backupRunsOf } from "../../backup/bucket/backup-runs.ts";
import { listBackups } from "../../backup/bucket/bucket.ts";
import { keyOfFile, readPlace } from "../../backup/bucket/place.ts";
import type { BackupRun } from "../../backup/bucket/run-store.ts";
import { backupIntervalMs, backupsKept } from "../../backup/bucket/settings.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { formatRfc3339, formatTime } from "../../base/rfc3339.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import { fieldSchema, NO_FIELDS, text } from "../../wire/fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { asInitializer } from "./as-initializer.ts";

const FILE = fieldSchema({
  backup: text().describe("The backup, as it is listed."),
  file: text().describe("`manifest`, or the SHA-256 of a part in it."),
});
const STORED = dataAnswer({ backups: ["string"] });
const CONTENT = dataAnswer({ content: "string" });

const NO_BUCKET = invalid("no R2 bucket is bound as BACKUPS");
const UNDER_WAY = invalid("a backup is under way");
const NOT_NEW = invalid("this deployment was initialized: sys/backup/stored shows its bucket to a token");
/** To strangers, a deployment without the secret shows nothing of an earlier one. */
const NEEDS_INIT_TOKEN: Failure = {
  code: "forbidden",
  message: "a new deployment shows the backups of its bucket once the secret GROVE_INIT_TOKEN is set",
};

/** Backups in the R2 bucket of a deployment. Only this server has it. */
export const STORED_BACKUP_ROUTES: readonly Route[] = [
  readRoute(
    "sys/backup/runs",
    {
      summary: "Tells how the backup into the bucket that is under way, the last one and the last good one went.",
      operationId: "backup-read-runs",
      answers: dataAnswer({
        bucket: "boolean",
        interval_hours: "integer",
        keep: "integer",
        running: "object | null",
        last: "object | null",
        last_good: "object | null",
      }),
    },
    async ({ env }) => {
      const { running, last, lastGood } = await backupRunsOf(env).status();
      return ok(
        dataReply({
          bucket: env.BACKUPS !== undefined,
          interval_hours: backupIntervalMs(env) / 3_600_000,
          keep: backupsKept(env),
          running: running && shown(running),
          last: last && shown(last),
          last_good: lastGood && shown(lastGood),
        }),
      );
    },
  ),

  simpleRoute(
    "update",
    "sys/backup/runs",
    {
      summary: "Begins a backup into the bucket.",
      operationId: "backup-begin-run",
      answers: NO_CONTENT,
    },
    NO_FIELDS,
    async ({ env }) => {
      if (!env.BACKUPS) return err(NO_BUCKET);
      return (await backupRunsOf(env).start()) ? ok(EMPTY) : err(UNDER_WAY);
    },
  ),

  readRoute(
    "sys/backup/stored",
    {
      summary: "Lists the newest backups in the bucket, the oldest first.",
      operationId: "backup-list-stored",
      answers: STORED,
    },
    ({ env }) => list(env),
  ),

  simpleRoute(
    "update",
    "sys/backup/stored/file",
    {
      summary: "Answers a file of a backup in the bucket, sealed as it is stored.",
      operationId: "backup-read-stored-file",
      answers: CONTENT,
    },
    FILE,
    ({ env, fields }) => readFile(env, fields.backup, fields.file),
  ),

  openRoute(
    "read",
    "sys/restore/stored",
    {
      summary: "Lists the newest backups in the bucket of a deployment that was never initialized.",
      operationId: "restore-list-stored",
      fields: {},
      answers: STORED,
    },
    (context) => asOwner(context, NO_FIELDS, () => list(context.env)),
  ),

  openRoute(
    "update",
    "sys/restore/stored/file",
    {
      summary: "Answers a file of a backup in the bucket of a deployment that was never initialized.",
      operationId: "restore-read-stored-file",
      fields: describeFields(FILE),
      answers: CONTENT,
    },
    (context) => asOwner(context, FILE, ({ backup, file }) => readFile(context.env, backup, file)),
  ),
];

async function asOwner<F>(
  context: OpenContext,
  schema: ReturnType<typeof fieldSchema<F>>,
  act: (fields: F) => Promise<Result<Reply, Failure>>,
): Promise<Result<Reply, Failure>> {
  if (!context.env.GROVE_INIT_TOKEN) return err(NEEDS_INIT_TOKEN);
  return asInitializer(context, schema, async (fields) => (context.loaded.ok ? err(NOT_NEW) : act(fields)));
}

async function list({ BACKUPS: bucket }: Env): Promise<Result<Reply, Failure>> {
  return bucket ? ok(dataReply({ backups: await listBackups(bucket) })) : err(NO_BUCKET);
}

async function readFile({ BACKUPS: bucket }: Env, backup: string, file: string): Promise<Result<Reply, Failure>> {
  if (!bucket) return err(NO_BUCKET);
  const place = readPlace(backup);
  const key = place && keyOfFile(place, file);
  if (!key) return err(invalid("backup and file are none that this server names"));
  const found = await bucket.get(key);
  return found
    ? ok(dataReply({ content: toBase64(new Uint8Array(await found.arrayBuffer())) }))
    : err({ code: "not_found" });
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
