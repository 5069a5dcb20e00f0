import type { Ms, Seconds } from "../base/clock.ts";
import type { LocationHint } from "../base/location.ts";
import { RESPONSE_WRAPPING_POLICY } from "../policy/policy-names.ts";
import type { AuditAuth } from "../wire/audit.ts";

/** A service token is stored and can be revoked; a batch token is a sealed text that nothing stores. */
export type TokenType = "service" | "batch";

/** The fields of a token that never change. */
export interface TokenRecord {
  /** Lower case, sorted, without repeats. */
  readonly policies: readonly string[];
  /** null when the creator sent none. */
  readonly meta: Readonly<Record<string, string>> | null;
  readonly displayName: string;
  /** The path that made the token, with role and suffix; leases are revoked by its prefix. */
  readonly path: string;
  /** Name of the token role, or null. */
  readonly role: string | null;
  readonly createdAt: Ms;
  /** 0: never expires. */
  readonly creationTtl: Seconds;
  /** The lesser of the create call's and the role's at the creation; 0: none. */
  readonly explicitMaxTtl: Seconds;
  /** The period that the create call requested, at most the role's at the creation; 0: none was requested. */
  readonly period: Seconds;
  readonly renewable: boolean;
  /** "" without an entity. */
  readonly entityId: string;
  /** Networks that the token may be used from; empty: any. */
  readonly boundCidrs: readonly string[];
  /** Uses given at creation; 0: no limit. */
  readonly numUses: number;
  /** False only for the first root token, which has no lease and so can't be renewed. */
  readonly leased: boolean;
  /** Key in the directory of custom ids when a root caller chose the id, else null. */
  readonly customIdKey: string | null;
  /** The login through which an auth method issued the token; null without one. */
  readonly login: {
    /** The id under which the mount issued it (`mountIssuerOf`); a mount made later at the same path has another id. */
    readonly mount: string;
    /** Data that the method gets back when the token is renewed. Never shown to clients. */
    readonly internal: Readonly<Record<string, string>>;
  } | null;
  /** Number of the newest watermark that the creating isolate knew. Only newer ones can end the token. Absent: none. */
  readonly watermark?: number;
}

/** Defaults of a new record: no limit, no role, no entity, no login. */
export const PLAIN_RECORD = {
  meta: null,
  role: null,
  explicitMaxTtl: 0,
  period: 0,
  renewable: false,
  entityId: "",
  boundCidrs: [],
  numUses: 0,
  leased: true,
  customIdKey: null,
  login: null,
} as const satisfies Partial<TokenRecord>;

/** The field `watermark` of a new record. `newest`: number of the newest watermark that its maker knows; 0: none. */
export function withWatermark(newest: number): Pick<TokenRecord, "watermark"> {
  return newest > 0 ? { watermark: newest } : {};
}

/** A token about to be made. */
export interface TokenSpec {
  readonly type: TokenType;
  readonly record: TokenRecord;
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** True when it gets no parent. */
  readonly orphan: boolean;
  /** Location hint for the tree of an orphan; absent: near the client that creates it. */
  readonly location?: LocationHint;
}

/** A token that may be made, and warnings for the caller. */
export interface TokenPlan {
  readonly spec: TokenSpec;
  readonly warnings: readonly string[];
}

/** A live service token as its tree shows it to the Worker. Holds nothing secret. */
export interface TokenView extends TokenRecord {
  readonly treeId: string;
  readonly row: number;
  readonly accessor: string;
  readonly orphan: boolean;
  /** 0: no limit; -1: this was the last use. */
  readonly usesLeft: number;
  /** TTL that the creation or the last renewal granted; 0: never expires. */
  readonly grantedTtl: Seconds;
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** null: never renewed. */
  readonly renewedAt: Ms | null;
}

/** A token in the audit log. `accessor`: "" for a batch token. */
export function auditAuth(record: TokenRecord, accessor: string, type: AuditAuth["token_type"]): AuditAuth {
  return {
    accessor,
    display_name: record.displayName,
    policies: record.policies,
    entity_id: record.entityId,
    token_type: type,
    metadata: record.meta ?? {},
  };
}

/** True for a token that holds a wrapped answer. Its policy can't be assigned to a token of another kind. */
export function isWrappingToken(record: Pick<TokenRecord, "policies">): boolean {
  return record.policies.length === 1 && record.policies[0] === RESPONSE_WRAPPING_POLICY;
}

/**
 * Plans the token that holds a wrapped answer: an orphan with one use that expires after `ttl`. Its holder can
 * look up `creationPath`, the path of the wrapped request. `watermark`: number of the newest one; 0: none.
 */
export function wrappingToken(creationPath: string, ttl: Seconds, watermark: number, now: Ms): TokenSpec {
  return {
    type: "service",
    orphan: true,
    expiresAt: now + ttl * 1000,
    record: {
      ...PLAIN_RECORD,
      policies: [RESPONSE_WRAPPING_POLICY],
      displayName: "",
      path: creationPath,
      createdAt: now,
      creationTtl: ttl,
      explicitMaxTtl: ttl,
      numUses: 1,
      ...withWatermark(watermark),
    },
  };
}
