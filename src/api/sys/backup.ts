import { type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { listedPart, makePart, sealBackup } from "../../backup/make.ts";
import { readPosition } from "../../backup/part.ts";
import { invalid } from "../../base/errors.ts";
import { err, ok } from "../../base/result.ts";
import { toBase64 } from "../../crypto/bytes.ts";
import { fieldSchema, integer, text } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";

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
  simpleRoute(
    "update",
    "sys/backup/part",
    {
      summary: "Answers the next part of a backup, with a seal; what is in it stays sealed and hashed.",
      operationId: "backup-read-part",
      answers: dataAnswer(PART_SHAPE),
    },
    fieldSchema({
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
    async ({ env, installation, fields }) => {
      const { run, number, position, known } = fields;
      const until = readPosition(fields.until);
      const from = readPosition(position);
      if (!from || !until) return err(invalid("position is none that this server has answered"));
      if (number < 0 || (run === "") !== (number === 0))
        return err(invalid("number must count the parts of a run from 0"));
      const made = await makePart(env, installation, { run, number, from, until: until.after, known });
      if (!made.ok) return made;
      const { bytes } = made.value;
      const content = bytes && toBase64(bytes);
      return ok(dataReply({ run: made.value.run, ...listedPart(made.value, position), content }));
    },
  ),

  simpleRoute(
    "update",
    "sys/backup/seal",
    {
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
    },
    fieldSchema({
      run: text().describe("The run."),
      parts: integer().describe("How many parts it has."),
    }),
    async ({ env, installation, fields }) => {
      const sealed = await sealBackup(env, installation, fields.run, fields.parts);
      return sealed.ok ? ok(dataReply({ ...sealed.value })) : sealed;
    },
  ),
];
