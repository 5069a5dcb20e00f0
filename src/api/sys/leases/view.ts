import { formatRfc3339 } from "../../../base/rfc3339.ts";
import { type LeaseView, leaseIdOf } from "../../../lease/record.ts";
import type { ShownLease } from "../../../lease/service.ts";
import type { TokenView } from "../../../token/record.ts";
import type { LeaseReply } from "../../../wire/reply.ts";
import type { Shape } from "../../../wire/shape.ts";

/** The shape of a look-up of a lease. */
export const LEASE_SHAPE = {
  id: "string",
  path: "string",
  renewable: "boolean",
  issue_time: "string",
  expire_time: "string | null",
  last_renewal: "string | null",
  ttl: "integer",
  "revoke_error?": "string",
} as const satisfies Shape;

/** What a look-up shows of a lease. `now` in ms. */
export function lookupObject(shown: ShownLease, now: number): Record<string, unknown> {
  return shown.kind === "token" ? ofToken(shown.leaseId, shown.token, now) : ofSecret(shown.lease, now);
}

/** The lease in the answer to its registration or renewal. */
export function leaseReply(lease: LeaseView): LeaseReply {
  return { id: leaseIdOf(lease), renewable: lease.renewable, duration: lease.grantedTtl };
}

function ofToken(id: string, token: TokenView, now: number): Record<string, unknown> {
  return {
    id,
    path: token.path,
    renewable: token.renewable,
    ...times(token.createdAt, token.expiresAt, token.renewedAt, now),
  };
}

function ofSecret(lease: LeaseView, now: number): Record<string, unknown> {
  return {
    id: leaseIdOf(lease),
    path: lease.path,
    renewable: lease.renewable && lease.error === null,
    ...times(lease.issuedAt, lease.expiresAt, lease.renewedAt, now),
    ...(lease.error !== null && { revoke_error: lease.error }),
  };
}

function times(issuedAt: number, expiresAt: number | null, renewedAt: number | null, now: number) {
  return {
    issue_time: formatRfc3339(issuedAt),
    expire_time: expiresAt === null ? null : formatRfc3339(expiresAt),
    last_renewal: renewedAt === null ? null : formatRfc3339(renewedAt),
    ttl: expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000)),
  };
}
