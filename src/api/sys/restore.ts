import { openRoute, type Route } from "../../auth/route.ts";
import { dataAnswer, describeFields, NO_CONTENT } from "../../auth/route-description.ts";
import { beginRestore, finishRestore, NOT_EMPTY, restorePart } from "../../backup/restore.ts";
import { currentTime, parseRfc3339 } from "../../base/clock.ts";
import { err, invalid, ok, type Result } from "../../base/result.ts";
import type { EndsOfRestore } from "../../system/setup.ts";
import { fieldSchema, integer, text } from "../../wire/fields.ts";
import { dataReply, doneReply } from "../../wire/reply.ts";
import { readPastTime } from "../not-before.ts";
import { asInitializer } from "./status/init.ts";

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
      asInitializer(context, BEGIN, async ({ run, parts, seal, key_ring: keyRing }) => {
        // Open to all: where there is an installation it must cost nothing.
        if (context.loaded.ok) return err(NOT_EMPTY);
        return doneReply(await beginRestore(context.env, { run, parts, seal, keyRing }));
      }),
  }),

  openRoute("update", "sys/restore/part", {
    summary: "Restores a part of the backup, and answers its receipt.",
    operationId: "restore-part",
    fields: describeFields(PART),
    answers: dataAnswer({ receipt: "string" }),
    handle: (context) =>
      asInitializer(context, PART, async (part) => {
        const receipt = await restorePart(context.env, part);
        return receipt.ok ? ok(dataReply({ receipt: receipt.value })) : receipt;
      }),
  }),

  openRoute("update", "sys/restore/finish", {
    summary: "Opens the deployment once all parts of the backup were restored.",
    operationId: "restore-finish",
    fields: describeFields(FINISH),
    answers: NO_CONTENT,
    handle: (context) =>
      asInitializer(
        context,
        FINISH,
        async ({ run, parts, seal, proof, issued_since: since, issued_before: before }) => {
          const ends = readEnds(since, before, currentTime());
          if (!ends.ok) return ends;
          return doneReply(await finishRestore(context.env, { run, parts, seal, proof, ends: ends.value }));
        },
      ),
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
