import { formatRfc3339 } from "../base/rfc3339.ts";
import type { BatchToken } from "../token/batch.ts";
import type { TokenRecord, TokenView } from "../token/record.ts";
import type { AuthReply } from "../wire/reply.ts";
import type { Shape } from "../wire/shape.ts";
import type { Caller } from "./caller.ts";

/** The shape of a look-up. */
export const LOOKUP_SHAPE = {
  id: "string",
  accessor: "string",
  type: "string",
  path: "string",
  policies: ["string"],
  "identity_policies?": ["string"],
  display_name: "string",
  entity_id: "string",
  meta: "object | null",
  num_uses: "integer",
  orphan: "boolean",
  "renewable?": "boolean",
  creation_time: "integer",
  creation_ttl: "integer",
  explicit_max_ttl: "integer",
  expire_time: "string | null",
  "issue_time?": "string",
  "last_renewal?": "string",
  "last_renewal_time?": "integer",
  ttl: "integer",
  "period?": "integer",
  "role?": "string",
  "bound_cidrs?": ["string"],
} as const satisfies Shape;

/**
 * What a look-up shows of a service token.
 *
 * @param id the token as the caller sent it; "" where it is not known or not told.
 * @param now ms.
 */
export function lookupToken(token: TokenView, id: string, now: number): Record<string, unknown> {
  return {
    ...lookupRecord(token, id, token.expiresAt, now),
    accessor: token.accessor,
    num_uses: token.usesLeft,
    orphan: token.orphan,
    type: "service",
    ...(token.leased && { renewable: token.renewable, issue_time: formatRfc3339(token.createdAt) }),
    ...(token.renewedAt !== null && {
      last_renewal: formatRfc3339(token.renewedAt),
      last_renewal_time: unixSeconds(token.renewedAt),
    }),
  };
}

/** What a look-up shows of a batch token. `now` in ms. */
export function lookupBatch(token: BatchToken, id: string, now: number): Record<string, unknown> {
  return {
    ...lookupRecord(token.record, id, token.expiresAt, now),
    accessor: "",
    num_uses: 0,
    orphan: token.parent === null,
    type: "batch",
    renewable: false,
    issue_time: formatRfc3339(token.record.createdAt),
  };
}

/** What a look-up shows of the token of a team. `now` in ms. */
export function lookupTeam(
  caller: Extract<Caller, { kind: "team" }>,
  id: string,
  now: number,
): Record<string, unknown> {
  return {
    ...lookupRecord(caller.record, id, caller.token.expiresAt, now),
    accessor: "",
    num_uses: 0,
    orphan: true,
    type: "team",
    renewable: false,
    issue_time: formatRfc3339(caller.record.createdAt),
  };
}

/** The `auth` part for a service token. `clientToken` is "" where the endpoint does not give the token. */
export function authOfToken(token: TokenView, clientToken: string): AuthReply {
  return {
    ...authOfRecord(token, clientToken),
    accessor: token.accessor,
    leaseDuration: token.grantedTtl,
    tokenType: "service",
    orphan: token.orphan,
  };
}

/** The `auth` part for a new batch token. */
export function authOfBatch(record: TokenRecord, orphan: boolean, clientToken: string): AuthReply {
  return {
    ...authOfRecord(record, clientToken),
    accessor: "",
    leaseDuration: record.creationTtl,
    tokenType: "batch",
    orphan,
  };
}

function lookupRecord(record: TokenRecord, id: string, expiresAt: number | null, now: number) {
  return {
    creation_time: unixSeconds(record.createdAt),
    creation_ttl: record.creationTtl,
    display_name: record.displayName,
    entity_id: record.entityId,
    expire_time: expiresAt === null ? null : formatRfc3339(expiresAt),
    explicit_max_ttl: record.explicitMaxTtl,
    id,
    meta: record.meta,
    path: record.path,
    policies: record.policies,
    ttl: expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000)),
    ...(record.period > 0 && { period: record.period }),
    ...(record.role !== null && { role: record.role }),
    ...(record.boundCidrs.length > 0 && { bound_cidrs: record.boundCidrs }),
  };
}

function authOfRecord(record: TokenRecord, clientToken: string) {
  return {
    clientToken,
    tokenPolicies: record.policies,
    metadata: record.meta,
    renewable: record.renewable,
    entityId: record.entityId,
    numUses: record.numUses,
  };
}

function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
