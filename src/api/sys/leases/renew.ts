import { type Route, simpleRoute } from "../../../auth/route.ts";
import { ENVELOPE } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { ok, type Result } from "../../../base/result.ts";
import { type GrantedLease, renewLease } from "../../../lease/service.ts";
import { duration, fieldSchema } from "../../../wire/fields.ts";
import type { Reply } from "../../../wire/reply.ts";
import { LEASE_ID, LEASE_PARAMETER, readLeaseIdField } from "./lease-id.ts";
import { leaseReply } from "./view.ts";

/** Renewal of a lease. The id can be in the path. */
export const LEASE_RENEWAL_ROUTES: readonly Route[] = [
  renewRoute("sys/leases/renew", "leases-renew-lease2"),
  renewRoute("sys/leases/renew/:url_lease_id{.+}", "leases-renew-lease"),
];

function renewRoute(path: string, operationId: string): Route {
  return simpleRoute(
    "update",
    path,
    { summary: "Renews a lease.", operationId, parameters: LEASE_PARAMETER, answers: ENVELOPE },
    fieldSchema({ ...LEASE_ID, increment: duration().describe("How long it should live from now") }),
    async (context) => {
      const { env, installation, fields, params } = context;
      const id = readLeaseIdField(fields.lease_id, params.url_lease_id ?? "");
      return id.ok ? grantedReply(await renewLease(env, installation, id.value, fields.increment)) : id;
    },
  );
}

/** The lease that a registration or renewal granted. */
export function grantedReply(granted: Result<GrantedLease, Failure>): Result<Reply, Failure> {
  if (!granted.ok) return granted;
  const { lease, warnings } = granted.value;
  return ok({ kind: "data", data: null, lease: leaseReply(lease), warnings });
}
