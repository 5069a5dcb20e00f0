import type { Ms } from "../../base/clock.ts";
import { blobsOf, type TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";

export const AUDIT_SHARD_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "records in sealed rows, what they are found by, counts of use, and batches that were taken",
    sql: `
      CREATE TABLE about (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        name TEXT NOT NULL,
        begins TEXT NOT NULL,
        opened_at INTEGER NOT NULL,
        closed INTEGER NOT NULL,
        seal BLOB
      );
      CREATE TABLE batches (
        first_seq INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        at INTEGER NOT NULL,
        since INTEGER NOT NULL,
        digest TEXT NOT NULL,
        sealed BLOB NOT NULL,
        seal BLOB
      );
      CREATE INDEX late ON batches (since) WHERE at - since > 60000;
      CREATE TABLE mentions (key INTEGER, seq INTEGER, PRIMARY KEY (key, seq)) WITHOUT ROWID;
      CREATE TABLE uses (
        token INTEGER,
        hour INTEGER,
        address INTEGER,
        count INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (token, hour, address)
      ) WITHOUT ROWID;
      CREATE TABLE addresses (key INTEGER PRIMARY KEY, sealed BLOB NOT NULL);
      CREATE TABLE writers (writer TEXT PRIMARY KEY, at INTEGER NOT NULL, numbers TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
  {
    version: 2,
    description: "the last record whose mentions are indexed",
    sql: `
      CREATE TABLE indexed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
      INSERT INTO indexed (one, seq) SELECT 1, first_seq + count - 1 FROM batches ORDER BY first_seq DESC LIMIT 1;
    `,
  },
];

/** The object itself. */
export type AboutRow = {
  one: number;
  name: string;
  /** Digest that the chain begins with. */
  begins: string;
  opened_at: Ms;
  /** 1: it takes nothing more. */
  closed: number;
};

/** Some records of a batch. */
export type BatchRow = {
  first_seq: number;
  count: number;
  /** When they were stored; never less than in the row before. */
  at: Ms;
  /** Time of the earliest record. */
  since: Ms;
  /** Digest of the chain after the last record. */
  digest: string;
  sealed: ArrayBuffer;
};

export const ABOUT: TableShape = {
  table: "about",
  kind: "audit object",
  key: ["one"],
  sealed: ["name", "begins", "opened_at", "closed"],
};

/** The seal covers the digest, which links a row to the row before. */
export const BATCH: TableShape = {
  table: "batches",
  kind: "audit batch",
  key: ["first_seq"],
  sealed: ["count", "at", "since", "digest"],
  values: ({ sealed }) => blobsOf([sealed ?? null]),
};
