import { formatRfc3339, formatTime } from "../base/clock.ts";
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
 * @param id the token as the caller sent it; "" where it is unknown or not shown.
 * @param now ms.
 */
export function lookupToken(token: TokenView, id: string, now: number): Record<string, unknown> {
  return lookupRecord(token, { ...token, type: "service" }, id, now);
}

/** What a look-up shows of a batch token. `now` in ms. */
export function lookupBatch({ record, expiresAt, parent }: BatchToken, id: string, now: number) {
  return lookupRecord(record, { ...UNSTORED, expiresAt, orphan: parent === null, type: "batch" }, id, now);
}

/** What a look-up shows of the token of a team. `now` in ms. */
export function lookupTeam({ record, token }: Extract<Caller, { kind: "team" }>, id: string, now: number) {
  return lookupRecord(record, { ...UNSTORED, expiresAt: token.expiresAt, orphan: true, type: "team" }, id, now);
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

/** What a look-up shows of a token besides its record. */
interface TokenState
  extends Pick<TokenView, "accessor" | "leased" | "orphan" | "renewable" | "renewedAt" | "usesLeft"> {
  readonly type: "service" | "batch" | "team";
  /** ms. */
  readonly expiresAt: number | null;
}

/** Of tokens without a row in a tree. */
const UNSTORED = { accessor: "", leased: true, renewable: false, renewedAt: null, usesLeft: 0 } as const;

/** The fields in the order of the wire, which spares most look-ups the sorting. */
function lookupRecord(record: TokenRecord, token: TokenState, id: string, now: number): Record<string, unknown> {
  const { expiresAt, leased, renewedAt } = token;
  return {
    accessor: token.accessor,
    ...(record.boundCidrs.length > 0 && { bound_cidrs: record.boundCidrs }),
    creation_time: unixSeconds(record.createdAt),
    creation_ttl: record.creationTtl,
    display_name: record.displayName,
    entity_id: record.entityId,
    expire_time: formatTime(expiresAt),
    explicit_max_ttl: record.explicitMaxTtl,
    id,
    ...(leased && { issue_time: formatRfc3339(record.createdAt) }),
    ...(renewedAt !== null && {
      last_renewal: formatRfc3339(renewedAt),
      last_renewal_time: unixSeconds(renewedAt),
    }),
    meta: record.meta,
    num_uses: token.usesLeft,
    orphan: token.orphan,
    path: record.path,
    ...(record.period > 0 && { period: record.period }),
    policies: record.policies,
    ...(leased && { renewable: token.renewable }),
    ...(record.role !== null && { role: record.role }),
    ttl: expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000)),
    type: token.type,
  };
}

function authOfRecord(record: TokenRecord, clientToken: string) {
  return {
    clientToken,
    displayName: record.displayName,
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
