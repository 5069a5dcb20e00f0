import type { Ms } from "../../base/clock.ts";
import type { TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Head } from "../chain.ts";

export const AUDIT_DIRECTORY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the objects of the audit store, and the heads of their chains",
    sql: `
      CREATE TABLE objects (
        name TEXT PRIMARY KEY,
        shard INTEGER NOT NULL,
        number INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'archived', 'dropped')),
        begins TEXT NOT NULL,
        opened_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        digest TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        term INTEGER,
        broken INTEGER,
        archived INTEGER NOT NULL,
        seal BLOB
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX objects_by_number ON objects (shard, number);
      CREATE TABLE heads (at INTEGER PRIMARY KEY, jws TEXT NOT NULL);
    `,
  },
];

type ObjectState = "open" | "closed" | "archived" | "dropped";

/** An object of the store, with the head of its chain as it last reported it. */
export interface AuditObject extends Head {
  readonly name: string;
  /** "archived": in the archive, and still here. "dropped": its records are deleted here. */
  readonly state: ObjectState;
  /** Digest that its chain begins with: that after the last record of the object before it. */
  readonly begins: string;
  readonly openedAt: Ms;
  /** When it last stored a record. */
  readonly lastAt: Ms;
  readonly bytes: number;
  /**
   * Number of the last record that was known when the object reported a chain without it: records after it were
   * deleted, or an earlier state of the object was put in its place. null: never. `LOST_ENTRY`: its entry itself was lost.
   */
  readonly broken: number | null;
}

/** `broken` of an object whose entry was deleted or changed, and written again. */
export const LOST_ENTRY = -1;

/** What an object reports of itself. */
export interface HeadReport extends Head {
  readonly closed: boolean;
  readonly lastAt: Ms;
  readonly bytes: number;
  /** The term of keys under which its first records are sealed; null without one. */
  readonly term: number | null;
}

/** An object as it is stored; see `AuditObject`. */
export type ObjectRow = {
  name: string;
  shard: number;
  number: number;
  state: ObjectState;
  begins: string;
  opened_at: Ms;
  last_at: Ms;
  seq: number;
  digest: string;
  bytes: number;
  term: number | null;
  broken: number | null;
  archived: number;
};

export const OBJECT: TableShape = {
  table: "objects",
  kind: "audit directory entry",
  key: ["name"],
  sealed: [
    "shard",
    "number",
    "state",
    "begins",
    "opened_at",
    "last_at",
    "seq",
    "digest",
    "bytes",
    "term",
    "broken",
    "archived",
  ],
};

export function auditObjectOf({
  opened_at: openedAt,
  last_at: lastAt,
  name,
  state,
  begins,
  seq,
  digest,
  bytes,
  broken,
}: ObjectRow): AuditObject {
  return { name, state, begins, openedAt, lastAt, seq, digest, bytes, broken };
}
