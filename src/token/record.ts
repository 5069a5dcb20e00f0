import type { LocationHint } from "../base/location.ts";

/** A service token is stored and can be revoked; a batch token is a sealed text that nothing stores. */
export type TokenType = "service" | "batch";

/** Who vouched for the holder of a token that an auth method issued. */
export interface LoginRecord {
  /** The id under which the mount issued it (`issuerOf`); a mount made later at the same path is another one. */
  readonly mount: string;
  /** What the method wants to know again when the token is renewed. Never shown to clients. */
  readonly internal: Readonly<Record<string, string>>;
}

/** What is fixed when a token is made. Times in ms since 1970, durations in seconds. */
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
  readonly createdAt: number;
  /** 0: never expires. */
  readonly creationTtl: number;
  /** The lesser of the create call's and the role's at the creation; 0: none. */
  readonly explicitMaxTtl: number;
  /** What the create call asked for, and no more than the role's at the creation; 0: not asked for. */
  readonly period: number;
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
  /** null unless an auth method issued the token. */
  readonly login: LoginRecord | null;
  /** The newest watermark that the isolate knew which made the token. Only later ones can end it. Absent when there was none. */
  readonly watermark?: number;
}

/** What records have in common: no limit, no role, no entity, no login. A new record states what differs. */
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

/** The part of a record that says which watermarks its maker knew. `newest` is 0 when there was none. */
export function madeAbove(newest: number): Pick<TokenRecord, "watermark"> {
  return newest > 0 ? { watermark: newest } : {};
}

/** A token about to be made. */
export interface TokenSpec {
  readonly type: TokenType;
  readonly record: TokenRecord;
  /** ms since 1970; null: never. */
  readonly expiresAt: number | null;
  /** True when it gets no parent. */
  readonly orphan: boolean;
  /** Where its tree shall be, for one without a parent; absent: near the client that asks for it. */
  readonly location?: LocationHint;
}

/** A live service token as its tree shows it to the Worker. Holds nothing secret. */
export interface TokenView extends TokenRecord {
  readonly treeId: string;
  readonly row: number;
  readonly accessor: string;
  readonly orphan: boolean;
  /** 0: no limit; -1: this was the last use. */
  readonly usesLeft: number;
  /** Seconds of the last grant: at creation or at the last renewal; 0: never expires. */
  readonly grantedTtl: number;
  /** ms since 1970; null: never. */
  readonly expiresAt: number | null;
  /** ms since 1970; null: never renewed. */
  readonly renewedAt: number | null;
}
