import { currentTime, type Ms } from "../../base/clock.ts";
import { reportTampering } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { FIRST_DIGEST, type Head } from "../chain.ts";
import type { AuditEnv } from "../env.ts";
import { readObjectName } from "../object-name.ts";

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
        seal BLOB
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX objects_by_number ON objects (shard, number);
    `,
  },
];

type ObjectState = "open" | "closed" | "archived" | "dropped";

/** An object of the store, with the head of its chain as it last reported it. */
interface AuditObject extends Head {
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
   * deleted, or an earlier state of the object was put in its place. null: never.
   */
  readonly broken: number | null;
}

/** What an object reports of itself. */
interface HeadReport extends Head {
  readonly closed: boolean;
  readonly lastAt: Ms;
  readonly bytes: number;
  /** The term of keys under which its first records are sealed; null without one. */
  readonly term: number | null;
}

type ObjectRow = {
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
};

const OBJECT: TableShape = {
  table: "objects",
  kind: "audit directory entry",
  key: ["name"],
  sealed: ["shard", "number", "state", "begins", "opened_at", "last_at", "seq", "digest", "bytes", "term", "broken"],
};

/**
 * All objects of the audit store. It is the witness of their chains: an object can't lose records that it has reported
 * here without the difference being seen.
 */
export class AuditDirectory extends GroveObject<AuditEnv> {
  readonly #objects: SealedTable<ObjectRow>;

  constructor(ctx: DurableObjectState, env: AuditEnv) {
    super(ctx, env, AUDIT_DIRECTORY_MIGRATIONS);
    this.#objects = new SealedTable(this.tables, this.seals, OBJECT);
  }

  /**
   * Registers an object before its first record. Returns what its chain begins with; null when it was full already.
   * Safe to repeat. @throws while the object before it may take records.
   */
  async open(name: string): Promise<{ readonly begins: string } | null> {
    await this.keys.open();
    const place = readObjectName(name);
    if (!place) throw new Error("no object of the store has this name");
    const known = this.#objects.find(name);
    if (known?.state === "open" && known.seq === 0) return { begins: known.begins };
    // Its records were deleted. The shard goes on after those that are known.
    if (known?.state === "open") this.#objects.put({ ...this.#cut(known), state: "closed" });
    if (known) return null;
    const [last] = this.#objects.list("WHERE shard = ? ORDER BY number DESC LIMIT 1", place.shard);
    if (last && last.number >= place.number) return null;
    if (last?.state === "open" || place.number !== (last?.number ?? 0) + 1) {
      throw new Error("the object before it is not full");
    }
    const now = currentTime();
    const begins = last?.digest ?? FIRST_DIGEST;
    const head = { seq: 0, digest: begins, bytes: 0, term: null, broken: null };
    this.#objects.put({ name, ...place, state: "open", begins, opened_at: now, last_at: now, ...head });
    return { begins };
  }

  /**
   * Takes the head of the chain of an object. `before`: how its chain stands at the head that is known here; null, or
   * another place: it does not know which that is, and the answer is that head. Otherwise the answer is null. Safe to
   * repeat.
   */
  async witness(name: string, report: HeadReport, before: Head | null): Promise<Head | null> {
    await this.keys.open();
    const known = this.#objects.find(name);
    if (!known) throw new Error("the object is not registered");
    if (before?.seq !== known.seq) return { seq: known.seq, digest: known.digest };
    const row = before.digest === known.digest ? known : this.#cut(known);
    const { closed, lastAt, seq, digest, bytes, term } = report;
    const state = known.state === "open" && closed ? "closed" : known.state;
    this.#objects.put({ ...row, state, last_at: lastAt, seq, digest, bytes, term });
    return null;
  }

  /** All objects, the newest of each shard first. */
  async shards(): Promise<AuditObject[]> {
    await this.keys.open();
    return this.#objects.list("ORDER BY number DESC, shard").map(objectOf);
  }

  /** Reports that an object lacks records that were known, and notes from where on. The earliest place stays. */
  #cut(known: ObjectRow): ObjectRow {
    reportTampering({ kind: "audit object", object: known.name, row: known.seq });
    return { ...known, broken: Math.min(known.broken ?? known.seq, known.seq) };
  }
}

function objectOf({
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
