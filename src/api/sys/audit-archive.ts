import { auditDirectoryOf, auditShardAt, readObjectName } from "../../audit/object-name.ts";
import { readVerifyCursor, verifyAudit } from "../../audit/verify.ts";
import { type Route, simpleRoute, tokenRoute, withParameters } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { formatRfc3339 } from "../../base/clock.ts";
import { NOT_FOUND } from "../../base/result.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { count, sent, text } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";

const OBJECTS = dataAnswer({
  objects: [
    {
      ...{ object: "string", state: "string", begins: "string", records: "integer", bytes: "integer" },
      ...{ opened_at: "string", last_at: "string" },
    },
  ],
  signed_heads: ["string"],
});
const PAGE = dataAnswer({ lines: ["string"], after: "integer", last: "boolean" });
const VERIFIED = dataAnswer({
  objects: "integer",
  records: "integer",
  problems: [{ object: "string", problem: "string", seq: "integer" }],
  cursor: "string",
});

/**
 * Checks that the audit store is complete, and exports its records. The reference has none of these. They need `sudo`,
 * as everything below `sys/audit` does.
 */
export const AUDIT_ARCHIVE_ROUTES: readonly Route[] = withParameters(
  { shard: "The number of the shard", number: "The number of the object in its shard" },
  [
    tokenRoute("read", "sys/audit/verify", {
      summary: "Checks that no record was changed or taken out, a part in each call.",
      operationId: "audit-verify",
      answers: VERIFIED,
      input: fieldSchema(
        { cursor: text().describe("cursor of the previous answer; empty for the first call.") },
        "refused",
      ),
      prepare: async ({ fields }) => readVerifyCursor(fields.cursor),
      handle: async ({ env, prepared }) => {
        const { objects, records, problems, next } = await verifyAudit(env, prepared);
        return dataReply({ objects, records, problems, cursor: next });
      },
    }),

    simpleRoute("read", "sys/audit/archive", {
      summary: "Lists the objects of the audit store and their signed heads.",
      operationId: "audit-list-archive",
      answers: OBJECTS,
      handle: async ({ env }) => {
        const directory = auditDirectoryOf(env);
        await directory.checkList();
        const [{ objects }, heads] = await Promise.all([directory.entries(), directory.signedHeads()]);
        const shown = objects.map(({ name, state, begins, openedAt, lastAt, seq, bytes }) => ({
          ...{ object: name, state, begins, records: seq, bytes },
          ...{ opened_at: formatRfc3339(openedAt), last_at: formatRfc3339(lastAt) },
        }));
        return dataReply({ objects: shown, signed_heads: heads });
      },
    }),

    simpleRoute("read", "sys/audit/archive/:shard/:number", {
      summary: "Returns lines of an object, in the order of its chain.",
      operationId: "audit-read-archive",
      answers: PAGE,
      input: fieldSchema({ after: sent(count()).describe("Number of the record after which the lines begin.") }),
      handle: async ({ env, params, fields }) => {
        const name = `${params.shard}/${params.number}`;
        const isKnown = readObjectName(name) !== null && (await auditDirectoryOf(env).find(name)) !== null;
        if (!isKnown) return NOT_FOUND;
        const { lines, seq, isEnd } = await auditShardAt(env, name).archivePage(fields.after ?? 0);
        return dataReply({ lines, after: seq, last: isEnd });
      },
    }),
  ],
);
