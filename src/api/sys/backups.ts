import { readRoute } from "../../auth/record-routes.ts";
import { type Answered, type OpenContext, openRoute, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, describeFields, NO_CONTENT } from "../../auth/route-description.ts";
import { backupIntervalMs, backupRunsOf, backupsKept } from "../../backup/bucket/backup-runs.ts";
import { listBackups } from "../../backup/bucket/bucket.ts";
import type { BackupRun } from "../../backup/bucket/run-store.ts";
import { makePart, sealBackup } from "../../backup/make.ts";
import { keyOfFile, readPlace } from "../../backup/names.ts";
import { beginRestore, finishRestore, NOT_EMPTY, restorePart } from "../../backup/restore.ts";
import { currentTime, formatRfc3339, formatTime, parseRfc3339 } from "../../base/clock.ts";
import { err, type Failure, invalid, NOT_FOUND, ok, type Result, refuse } from "../../base/result.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import type { Env } from "../../env.ts";
import type { EndsOfRestore } from "../../system/setup.ts";
import { type FieldSchema, fieldSchema, integer, NO_FIELDS, text } from "../../wire/fields.ts";
import { dataReply, doneReply, EMPTY } from "../../wire/reply.ts";
import { readPastTime } from "../not-before.ts";
import { asInitializer } from "./status/init.ts";

const PART_SHAPE = {
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
} as const;

/** Copies of all that is stored, part by part. Only this server has it. */
export const BACKUP_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/backup/part", {
    summary: "Answers the next part of a backup, with a seal; what is in it stays sealed and hashed.",
    operationId: "backup-read-part",
    answers: dataAnswer(PART_SHAPE),
    input: fieldSchema({
      run: text().describe("The run, from the answer with its first part; empty for the first part."),
      number: integer().describe("Counts the parts of the run from 0."),
      position: text().describe(
        "Where the part begins, from the answer with the part before; empty for the first part.",
      ),
      until: text().describe(
        "Where the part ends at the latest: the next position of a part of an earlier run; empty for no limit.",
      ),
      known: text().describe("SHA-256 of a part that the client has: it is answered without content."),
    }),
    handle: async ({ env, installation, fields }) => {
      const isFirst = fields.number === 0;
      if (fields.number < 0 || isFirst !== (fields.run === ""))
        return refuse("number must count the parts of a run from 0");
      const made = await makePart(env, installation, fields);
      if (!made.ok) return made;
      const { run, part, bytes } = made.value;
      return ok(dataReply({ run, ...part, content: bytes && toBase64(bytes) }));
    },
  }),

  simpleRoute("update", "sys/backup/seal", {
    summary: "Seals a backup of which all parts were read, and answers the head of its manifest.",
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
      parts: integer().describe("How many parts it has."),
    }),
    handle: async ({ env, installation, fields }) => {
      const sealed = await sealBackup(env, installation, fields.run, fields.parts);
      return sealed.ok ? ok(dataReply({ ...sealed.value })) : sealed;
    },
  }),
];

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
  readRoute("sys/backup/runs", {
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
    handle: async ({ env }) => {
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
  }),

  simpleRoute("update", "sys/backup/runs", {
    summary: "Begins a backup into the bucket.",
    operationId: "backup-begin-run",
    answers: NO_CONTENT,
    input: NO_FIELDS,
    handle: async ({ env }) => {
      if (!env.BACKUPS) return err(NO_BUCKET);
      return (await backupRunsOf(env).start()) ? ok(EMPTY) : err(UNDER_WAY);
    },
  }),

  readRoute("sys/backup/stored", {
    summary: "Lists the newest backups in the bucket, the oldest first.",
    operationId: "backup-list-stored",
    answers: STORED,
    handle: ({ env }) => list(env),
  }),

  simpleRoute("update", "sys/backup/stored/file", {
    summary: "Answers a file of a backup in the bucket, sealed as it is stored.",
    operationId: "backup-read-stored-file",
    answers: CONTENT,
    input: FILE,
    handle: ({ env, fields }) => readFile(env, fields.backup, fields.file),
  }),

  openRoute("read", "sys/restore/stored", {
    summary: "Lists the newest backups in the bucket of a deployment that was never initialized.",
    operationId: "restore-list-stored",
    fields: {},
    answers: STORED,
    handle: (context) => asOwner(context, NO_FIELDS, () => list(context.env)),
  }),

  openRoute("update", "sys/restore/stored/file", {
    summary: "Answers a file of a backup in the bucket of a deployment that was never initialized.",
    operationId: "restore-read-stored-file",
    fields: describeFields(FILE),
    answers: CONTENT,
    handle: (context) => asOwner(context, FILE, ({ backup, file }) => readFile(context.env, backup, file)),
  }),
];

async function asOwner<F>(context: OpenContext, schema: FieldSchema<F>, act: (fields: F) => Answered): Answered {
  if (!context.env.GROVE_INIT_TOKEN) return err(NEEDS_INIT_TOKEN);
  return asInitializer(context, schema, async (fields) => (context.loaded.ok ? err(NOT_NEW) : act(fields)));
}

async function list({ BACKUPS: bucket }: Env): Answered {
  return bucket ? ok(dataReply({ backups: await listBackups(bucket) })) : err(NO_BUCKET);
}

async function readFile({ BACKUPS: bucket }: Env, backup: string, file: string): Answered {
  if (!bucket) return err(NO_BUCKET);
  const place = readPlace(backup);
  const key = place && keyOfFile(place, file);
  if (!key) return refuse("backup and file are none that this server names");
  const found = await bucket.get(key);
  return found ? ok(dataReply({ content: toBase64(new Uint8Array(await found.arrayBuffer())) })) : NOT_FOUND;
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

const HEAD = {
  run: text().describe("The run that made the backup."),
  parts: integer().describe("How many parts it has."),
  seal: text().describe("The seal of the backup."),
};
const BEGIN = fieldSchema({ ...HEAD, key_ring: text().describe("The wrapped key ring.") });
const PART = fieldSchema({
  number: integer().describe("The number of the part in its run."),
  seal: text().describe("Its seal."),
  content: text().describe("Its content as the server of the backup has answered it."),
});
const FINISH = fieldSchema({
  ...HEAD,
  proof: text().describe("The XOR of the receipts of all parts, in base64."),
  issued_since: text().describe("Ends everything that was issued at this time or later; nothing when it is empty."),
  issued_before: text().describe(
    'Ends what was issued before this time, or "now", except for root tokens; nothing when it is empty.',
  ),
});

const NO_PAST_TIME = invalid(
  "issued_since must be a time that has passed, as in 2026-11-22T01:30:00Z; issued_before takes now to end what was issued before the restore",
);

/** A new deployment is filled from a backup in the place of `sys/init`, with the same right. Only this server has it. */
export const RESTORE_ROUTES: readonly Route[] = [
  openRoute("update", "sys/restore/begin", {
    summary: "Begins to restore a backup into a deployment that was never initialized and has its seal key.",
    operationId: "restore-begin",
    fields: describeFields(BEGIN),
    answers: NO_CONTENT,
    handle: (context) =>
      asInitializer(context, BEGIN, async ({ key_ring: keyRing, ...backup }) => {
        // Open to all: where there is an installation it must cost nothing.
        if (context.loaded.ok) return err(NOT_EMPTY);
        return doneReply(await beginRestore(context.env, backup, keyRing));
      }),
  }),

  openRoute("update", "sys/restore/part", {
    summary: "Restores a part of the backup, and answers its receipt.",
    operationId: "restore-part",
    fields: describeFields(PART),
    answers: dataAnswer({ receipt: "string" }),
    handle: (context) =>
      asInitializer(context, PART, async ({ number, seal, content }) => {
        const receipt = await restorePart(context.env, number, seal, content);
        return receipt.ok ? ok(dataReply({ receipt: receipt.value })) : receipt;
      }),
  }),

  openRoute("update", "sys/restore/finish", {
    summary: "Opens the deployment once all parts of the backup were restored.",
    operationId: "restore-finish",
    fields: describeFields(FINISH),
    answers: NO_CONTENT,
    handle: (context) =>
      asInitializer(context, FINISH, async ({ proof, issued_since: since, issued_before: before, ...backup }) => {
        const ends = readEnds(since, before, currentTime());
        if (!ends.ok) return ends;
        return doneReply(await finishRestore(context.env, backup, proof, ends.value));
      }),
  }),
];

/** @param now ms. */
function readEnds(since: string, before: string, now: number): Result<EndsOfRestore> {
  const issuedSince = since === "" ? null : parseRfc3339(since);
  if (since !== "" && (issuedSince === null || issuedSince > now)) return err(NO_PAST_TIME);
  if (before === "") return ok({ issuedSince, issuedBefore: null });
  const issuedBefore = readPastTime(before, "issued_before", now);
  return issuedBefore.ok ? ok({ issuedSince, issuedBefore: issuedBefore.value ?? "now" }) : issuedBefore;
}
