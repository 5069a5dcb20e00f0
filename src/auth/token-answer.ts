import { currentTime, formatRfc3339, formatTime, type Ms, type Seconds } from "../base/clock.ts";
import type { TokenRecord, TokenView } from "../token/record.ts";
import type { AuthReply } from "../wire/reply.ts";
import { type Shape, view } from "../wire/view.ts";
import { type Caller, kindName } from "./caller.ts";

/** Returns the data of a look-up. @param id the token as it was sent; "" where it is unknown or not shown. */
export function lookupOf(caller: Caller, id: string): Record<string, unknown> {
  return LOOKUP.show({ record: caller.record, token: stateOf(caller), kind: kindName(caller), id, now: currentTime() });
}

function stateOf(caller: Caller): TokenState {
  if (caller.kind === "service") return caller.token;
  const orphan = caller.kind === "registered" || caller.token.parent === null;
  return { ...UNSTORED, expiresAt: caller.token.expiresAt, orphan };
}

/** Returns the `auth` part of an answer for a service token. `clientToken`: "" where the endpoint does not show it. */
export function authOfToken(token: TokenView, clientToken: string): AuthReply {
  const { accessor, grantedTtl: leaseDuration, orphan } = token;
  return { ...authOfRecord(token, clientToken), accessor, leaseDuration, tokenType: "service", orphan };
}

/** Returns the `auth` part of an answer for a new batch token. */
export function authOfBatch(record: TokenRecord, orphan: boolean, clientToken: string): AuthReply {
  const leaseDuration = record.creationTtl;
  return { ...authOfRecord(record, clientToken), accessor: "", leaseDuration, tokenType: "batch", orphan };
}

type TokenState = Pick<
  TokenView,
  "accessor" | "expiresAt" | "leased" | "orphan" | "renewable" | "renewedAt" | "usesLeft"
>;

const UNSTORED = { accessor: "", leased: true, renewable: false, renewedAt: null, usesLeft: 0 } as const;

/** Fields in the order of the answer (alphabetical). Most answers then need no sorting. */
const LOOKUP = view<{ record: TokenRecord; token: TokenState; kind: string; id: string; now: Ms }>({
  accessor: ["string", ({ token }) => token.accessor],
  "bound_cidrs?": [["string"], ({ record }) => (record.boundCidrs.length > 0 ? record.boundCidrs : undefined)],
  creation_time: ["integer", ({ record }) => unixSeconds(record.createdAt)],
  creation_ttl: ["integer", ({ record }) => record.creationTtl],
  display_name: ["string", ({ record }) => record.displayName],
  entity_id: ["string", ({ record }) => record.entityId],
  expire_time: ["string | null", ({ token }) => formatTime(token.expiresAt)],
  explicit_max_ttl: ["integer", ({ record }) => record.explicitMaxTtl],
  id: ["string", ({ id }) => id],
  "issue_time?": ["string", ({ record, token }) => (token.leased ? formatRfc3339(record.createdAt) : undefined)],
  "last_renewal?": ["string", ({ token }) => formatTime(token.renewedAt) ?? undefined],
  "last_renewal_time?": [
    "integer",
    ({ token: { renewedAt } }) => (renewedAt === null ? undefined : unixSeconds(renewedAt)),
  ],
  meta: [["or null", { "*": "string" }], ({ record }) => record.meta],
  num_uses: ["integer", ({ token }) => token.usesLeft],
  orphan: ["boolean", ({ token }) => token.orphan],
  path: ["string", ({ record }) => record.path],
  "period?": ["integer", ({ record }) => (record.period > 0 ? record.period : undefined)],
  policies: [["string"], ({ record }) => record.policies],
  "renewable?": ["boolean", ({ token }) => (token.leased ? token.renewable : undefined)],
  "role?": ["string", ({ record }) => record.role ?? undefined],
  ttl: [
    "integer",
    ({ token: { expiresAt }, now }) => (expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000))),
  ],
  type: ["string", ({ kind }) => kind],
});

export const LOOKUP_SHAPE = { ...LOOKUP.shape, "identity_policies?": ["string"] } as const satisfies Shape;

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

function unixSeconds(ms: Ms): Seconds {
  return Math.floor(ms / 1000);
}
