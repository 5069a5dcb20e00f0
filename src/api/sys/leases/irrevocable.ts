import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { countIrrevocable, listIrrevocable } from "../../../lease/queries.ts";
import { leaseIdOf } from "../../../lease/record.ts";
import { strictSchema, text, unread } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";

/** Leases that one answer holds at most, unless more are asked for. */
const MAX_LIST = 10_000;
/** Leases that one answer holds at most, whatever is asked for: what a shard sends of as many fits one call between objects. */
const MAX_ASKED = 30_000;

/** The reference's warning, word for word. */
const TOO_MANY =
  "Command halted because many irrevocable leases were found. To emit the entire list, re-run the command with force set true.";
const TOO_MANY_FOR_ONE_ANSWER = `One answer holds ${MAX_ASKED} leases at most, and there are more: see to these with sys/leases/revoke-force, then list again.`;

const TYPE = {
  type: text().describe("`irrevocable`, the only type"),
  // There is one namespace, so there is nothing below it.
  include_child_namespaces: unread("boolean").describe("Without effect: there is one namespace"),
};

/** Leases whose revocation was given up, counted and listed. */
export const IRREVOCABLE_LEASE_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "sys/leases/count",
    {
      summary: "Counts the leases that could not be revoked.",
      operationId: "leases-count",
      answers: dataAnswer({ lease_count: "integer", counts: { "*": "integer" } }),
    },
    strictSchema(TYPE),
    async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return err({ code: "not_found" });
      const counts = await countIrrevocable(env);
      const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return ok(dataReply({ lease_count: total, counts }));
    },
  ),
  simpleRoute(
    "read",
    "sys/leases",
    {
      summary: "Lists the leases that could not be revoked.",
      operationId: "leases-list",
      answers: dataAnswer({
        lease_count: "integer",
        leases: [{ lease_id: "string", mount_id: "string", error: "string" }],
      }),
    },
    strictSchema({ ...TYPE, limit: text().describe(`Entries at most; \`none\` for all, up to ${MAX_ASKED}`) }),
    async ({ env, fields }) => {
      if (fields.type !== "irrevocable") return err({ code: "not_found" });
      return listGivenUp(env, fields.limit);
    },
  ),
];

async function listGivenUp(env: Env, limit: string): Promise<Result<Reply, Failure>> {
  const asked = limit === "" ? MAX_LIST : readLimit(limit);
  if (asked === null) return err(invalid('limit must be "none" or a positive number'));
  const most = Math.min(asked, MAX_ASKED);
  const leases = await listIrrevocable(env, most + 1);
  const shown = leases.slice(0, most);
  const data = {
    lease_count: shown.length,
    leases: shown.map((lease) => ({
      lease_id: leaseIdOf(lease),
      mount_id: `${lease.path.split("/")[0]}/`,
      error: lease.error,
    })),
  };
  if (leases.length > most && limit === "") return ok(dataReply(data, [TOO_MANY]));
  if (leases.length > most && asked > most) return ok(dataReply(data, [TOO_MANY_FOR_ONE_ANSWER]));
  return ok(dataReply(data));
}

/** How many are asked for; null when `limit` does not say. */
function readLimit(limit: string): number | null {
  if (limit.toLowerCase() === "none") return Number.POSITIVE_INFINITY;
  return /^\d{1,9}$/.test(limit) && Number(limit) > 0 ? Number(limit) : null;
}
