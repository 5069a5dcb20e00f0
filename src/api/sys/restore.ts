import { type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { dataAnswer, type FieldDescription, NO_CONTENT } from "../../auth/route-description.ts";
import { beginRestore, finishRestore, NOT_EMPTY, restorePart } from "../../backup/restore.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { fieldSchema, integer, text } from "../../wire/fields.ts";
import { readFields } from "../../wire/read-fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { readNotBefore } from "../not-before.ts";
import { refusalOfStranger } from "./status/init.ts";

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
  not_before: text().describe('Ends what was issued before this time, or "now"; nothing when it is empty.'),
});

/** A new deployment is filled from a backup in the place of `sys/init`, with the same right. Only this server has it. */
export const RESTORE_ROUTES: readonly Route[] = [
  openRoute(
    "update",
    "sys/restore/begin",
    {
      summary: "Begins to restore a backup into a deployment that was never initialized and has its seal key.",
      operationId: "restore-begin",
      fields: described(BEGIN),
      answers: NO_CONTENT,
    },
    (context) =>
      asInitializer(context, BEGIN, async ({ run, parts, seal, key_ring: keyRing }) => {
        // Open to all: where there is an installation it must cost nothing.
        if (context.loaded.ok) return err(NOT_EMPTY);
        const begun = await beginRestore(context.env, { run, parts, seal, keyRing });
        return begun.ok ? ok(EMPTY) : begun;
      }),
  ),

  openRoute(
    "update",
    "sys/restore/part",
    {
      summary: "Restores a part of the backup, and answers its receipt.",
      operationId: "restore-part",
      fields: described(PART),
      answers: dataAnswer({ receipt: "string" }),
    },
    (context) =>
      asInitializer(context, PART, async (part) => {
        const receipt = await restorePart(context.env, part);
        return receipt.ok ? ok(dataReply({ receipt: receipt.value })) : receipt;
      }),
  ),

  openRoute(
    "update",
    "sys/restore/finish",
    {
      summary: "Opens the deployment once all parts of the backup were restored.",
      operationId: "restore-finish",
      fields: described(FINISH),
      answers: NO_CONTENT,
    },
    (context) =>
      asInitializer(context, FINISH, async ({ run, parts, seal, proof, not_before: before }) => {
        const notBefore = before === "" ? ok(undefined) : readNotBefore(before, currentTime());
        if (!notBefore.ok) return notBefore;
        const finished = await finishRestore(context.env, { run, parts, seal, proof, notBefore: notBefore.value });
        return finished.ok ? ok(EMPTY) : finished;
      }),
  ),
];

async function asInitializer<F>(
  { env, request }: OpenContext,
  schema: ReturnType<typeof fieldSchema<F>>,
  act: (fields: F) => Promise<Result<Reply, Failure>>,
): Promise<Result<Reply, Failure>> {
  const refusal = refusalOfStranger(env, request);
  if (refusal) return err(refusal);
  const read = readFields(schema, request.data, request.unreadNames);
  return read.ok ? act(read.value.values) : read;
}

function described<F>({ entries }: ReturnType<typeof fieldSchema<F>>): Record<string, FieldDescription> {
  return Object.fromEntries(entries.map(([name, { kind, description }]) => [name, { shape: kind.shape, description }]));
}
