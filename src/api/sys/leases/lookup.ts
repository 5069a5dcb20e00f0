import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, KEYS } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { listLeases } from "../../../lease/queries.ts";
import { lookupLease } from "../../../lease/service.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import type { Installation } from "../../../system/installation.ts";
import { fieldSchema } from "../../../wire/fields.ts";
import { PAGE, type Page } from "../../../wire/page.ts";
import { dataReply, keysReply, type Reply } from "../../../wire/reply.ts";
import { LEASE_ID, readLeaseIdField } from "./lease-id.ts";
import { LEASE_VIEW, leaseFacts } from "./view.ts";

/** Names that one answer holds at most. */
const MAX_LIST = 10_000;

/** The reference's message for a lease that does not exist, word for word. */
const INVALID_LEASE = invalid("invalid lease");

/** Look-up of a lease, and the list of the paths of leases. */
export const LEASE_LOOKUP_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "sys/leases/lookup",
    { summary: "Shows a lease.", operationId: "leases-read-lease", answers: dataAnswer(LEASE_VIEW.shape) },
    fieldSchema(LEASE_ID),
    async ({ env, installation, request, fields }) => {
      const id = readLeaseIdField(fields.lease_id, "");
      if (!id.ok) return id;
      const found = await lookupLease(env, installation, id.value, request.notes);
      return found.ok ? ok(dataReply(LEASE_VIEW.show(leaseFacts(found.value, currentTime())))) : err(INVALID_LEASE);
    },
  ),
  simpleRoute(
    "list",
    "sys/leases/lookup",
    { summary: "Lists the first segments of the paths of leases.", operationId: "leases-look-up", answers: KEYS },
    fieldSchema(PAGE),
    ({ env, installation, fields }) => listNames(env, installation, "", fields),
  ),
  simpleRoute(
    "list",
    "sys/leases/lookup/:prefix{.+}",
    {
      summary: "Lists what is below a path of leases.",
      operationId: "leases-look-up-with-prefix",
      parameters: { prefix: "The path" },
      answers: KEYS,
    },
    fieldSchema(PAGE),
    ({ env, installation, params, fields }) => listNames(env, installation, `${params.prefix}/`, fields),
  ),
];

async function listNames(
  env: Env,
  installation: Installation,
  prefix: string,
  { after, limit }: Page,
): Promise<Result<Reply, Failure>> {
  const most = limit > 0 ? Math.min(limit, MAX_LIST) : MAX_LIST;
  await publishRecent(env, currentTime());
  const names = await listLeases(env, installation.keys, prefix, after, most + 1);
  const keys = names.slice(0, most);
  const isCut = names.length > most && most !== limit;
  return ok(isCut ? dataReply({ keys }, [`the list was cut after ${MAX_LIST} names`]) : keysReply(keys));
}
