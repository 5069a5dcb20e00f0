import { currentTime, formatRfc3339, type Ms } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { reportTampering } from "../../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../../storage/sealed-table.ts";
import { columnOf, type Migration } from "../../storage/tables.ts";
import type { AuditObjectNumber } from "../../system/audit-numbers.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { mustServe } from "../../system/installation.ts";
import { systemOf } from "../../system/system.ts";
import { appender } from "../append.ts";
import { FIRST_DIGEST, type Head } from "../chain.ts";
import { droppedRecord } from "../dropped-record.ts";
import type { AuditEntry } from "../entry.ts";
import type { AuditEnv } from "../env.ts";
import { auditShardAt, nameOfObject, readObjectName } from "../object-name.ts";
import { expiredObjects, openMs } from "../retention.ts";
import { archiveOf, putHeads, putPage } from "./archive.ts";
import { signHeads } from "./signed-head.ts";

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
  archived: number;
};

const STORED = "WHERE state <> 'dropped'";
const CLOSED = "WHERE state = 'closed' ORDER BY last_at";
const HOUR_MS = 3_600_000;
const RETRY_MS = 60_000;
const RETENTION = "audit retention";
const BACKLOGS = "audit backlogs";
/** A note of an isolate that is older is one of an isolate that has ended. A writer renews it once a minute. */
const ENDED_MS = 600_000;
/** Maximum number of signed heads that are kept here: two days of them. */
const MAX_HEADS = 48;

const OBJECT: TableShape = {
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

/**
 * All objects of the audit store. It is the witness of their chains: an object can't lose records that it has reported
 * here without the difference being seen.
 */
export class AuditDirectory extends GroveObject<AuditEnv> {
  readonly #objects: SealedTable<ObjectRow>;
  /** When `#retain` runs next. */
  #retainAt: Ms = 0;
  /** When `#recordLosses` runs next. Not at once: after a start, requests come first. */
  #backlogsAt: Ms = currentTime() + RETRY_MS;
  /** True when this instance has compared its entries with the numbers that System knows. */
  #isCompared = false;

  constructor(ctx: DurableObjectState, env: AuditEnv) {
    super(ctx, env, AUDIT_DIRECTORY_MIGRATIONS);
    this.#objects = new SealedTable(this.tables, this.seals, OBJECT);
    this.alarms.add("audit heads", {
      dueAt: () => this.#nextHeadsAt(),
      run: () => this.#sign(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.add(RETENTION, {
      dueAt: () => (this.tables.exist ? this.#retainAt : null),
      run: () => this.#retain(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.add(BACKLOGS, {
      dueAt: () => (this.tables.exist ? this.#backlogsAt : null),
      run: () => this.#recordLosses(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.addJob("audit archive", {
      running: () => (archiveOf(this.env) ? (this.#objects.list(`${CLOSED} LIMIT 1`)[0] ?? null) : null),
      step: (object) => this.#archive(object),
      pauseMs: (tookMs) => tookMs,
      retryMs: () => RETRY_MS,
    });
  }

  /**
   * Registers an object before its first record. Returns the digest that its chain begins with; null when the object is
   * already full. Safe to repeat. @throws while the object before it may take records.
   */
  async open(name: string): Promise<{ readonly begins: string } | null> {
    await this.keys.open();
    // Before the object is registered: in the place of a lost one it would hide the loss.
    await this.#compare();
    const opened = await this.#register(name);
    await this.#compare();
    return opened;
  }

  async #register(name: string): Promise<{ readonly begins: string } | null> {
    const place = readObjectName(name);
    if (!place) throw new Error("no object of the store has this name");
    const known = this.#objects.find(name);
    if (known?.state === "open" && known.seq === 0) return { begins: known.begins };
    // The object has lost its records: otherwise it would not register again. The shard goes on with the next object.
    if (known?.state === "open") this.#objects.put({ ...this.#cut(known), state: "closed" });
    if (known) return null;
    const last = this.#newest(place.shard);
    if (last && last.number >= place.number) return null;
    if (last?.state === "open" || place.number !== (last?.number ?? 0) + 1) {
      throw new Error("the object before it is not full");
    }
    const now = currentTime();
    const begins = last?.digest ?? FIRST_DIGEST;
    const head = { seq: 0, digest: begins, bytes: 0, term: null, broken: null, archived: 0 };
    this.#objects.put({ name, ...place, state: "open", begins, opened_at: now, last_at: now, ...head });
    await this.alarms.set();
    return { begins };
  }

  /**
   * Stores the head of the chain of an object. `before` is the head of its chain at the record number that is stored
   * here: another digest shows that earlier records were changed or deleted. When `before` is null or has another
   * number, nothing is stored and the answer is the stored head, so that the object can call again. Otherwise the
   * answer is null. Safe to repeat.
   */
  async witness(name: string, report: HeadReport, before: Head | null): Promise<Head | null> {
    await this.#openList();
    const known = this.#objects.find(name) ?? (await this.#writeAgain(name));
    if (before?.seq !== known.seq) return { seq: known.seq, digest: known.digest };
    const row = before.digest === known.digest ? known : this.#cut(known);
    const { closed, lastAt, seq, digest, bytes, term } = report;
    const state = known.state === "open" && closed ? "closed" : known.state;
    this.#objects.put({ ...row, state, last_at: lastAt, seq, digest, bytes, term });
    if (state !== known.state) await this.alarms.set();
    return null;
  }

  /** The objects that have records, the newest of each shard first. */
  async stored(): Promise<AuditObject[]> {
    await this.#openList();
    return this.#objects.list(`${STORED} ORDER BY number DESC, shard`).map(objectOf);
  }

  /** The object with this name, or null. */
  async find(name: string): Promise<AuditObject | null> {
    await this.#openList();
    const row = this.#objects.find(name);
    return row && objectOf(row);
  }

  /** The newest object of a shard, or null. */
  async newest(shard: number): Promise<AuditObject | null> {
    await this.#openList();
    const row = this.#newest(shard);
    return row && objectOf(row);
  }

  /**
   * Compares the entries with System and with the shards themselves: an object may have come after the newest one that
   * either knows. Entries that were lost are written again, and stay marked as `LOST_ENTRY`.
   */
  async checkList(): Promise<void> {
    await this.keys.open();
    await this.#compare();
    const newest = new Map(Array.from({ length: this.env.deployment.auditShards }, (_, shard) => [shard, 0]));
    for (const { shard, number } of this.#numbers()) newest.set(shard, number);
    await inGroups([...newest], async ([shard, number]) => {
      for (let next = number + 1; ; next++) {
        const name = nameOfObject({ shard, number: next });
        const standing = await auditShardAt(this.env, name).standing(name);
        if (!standing || this.#objects.find(name)) return;
        await this.#writeAgain(name);
      }
    });
  }

  /** All objects, and the names of entries that were not written by Grove. */
  async entries(): Promise<{ readonly objects: AuditObject[]; readonly tampered: string[] }> {
    await this.keys.open();
    const { good, tampered } = this.#objects.judged("ORDER BY shard, number");
    return { objects: good.map(objectOf), tampered: tampered.map(({ name }) => name) };
  }

  /** The signed heads of the last two days, the oldest first. */
  signedHeads(): string[] {
    return columnOf<string>(this.tables, "SELECT jws FROM heads ORDER BY at");
  }

  /** The oldest term of keys under which records are sealed; null without a record. */
  async oldestTerm(): Promise<number | null> {
    await this.keys.open();
    const terms = this.#objects.list(STORED).flatMap(({ term }) => term ?? []);
    return terms.length === 0 ? null : Math.min(...terms);
  }

  /** Opens the keys, and compares the list once. A failure does not hold up the caller: `checkList` shows it. */
  async #openList(): Promise<void> {
    await this.keys.open();
    if (this.#isCompared) return;
    await this.#compare().catch((error: unknown) => {
      console.error(JSON.stringify({ type: "audit list", error: String(error) }));
    });
  }

  /** Tells System the numbers of the newest objects, and writes entries again that are missing up to those it knows. */
  async #compare(): Promise<void> {
    const known = await systemOf(this.env).noteAuditObjects(this.#numbers());
    const named = new Set(this.#objects.list().map(({ name }) => name));
    for (const { shard, number: last } of known) {
      for (let number = 1; number <= last; number++) {
        const name = nameOfObject({ shard, number });
        if (!named.has(name)) await this.#writeAgain(name);
      }
    }
    this.#isCompared = true;
  }

  /** The numbers of the newest objects. */
  #numbers(): AuditObjectNumber[] {
    const newest = new Map<number, number>();
    for (const { shard, number } of this.#objects.list("ORDER BY number")) newest.set(shard, number);
    return [...newest].map(([shard, number]) => ({ shard, number }));
  }

  /** Writes the entry of an object again, as the object describes itself, or as deleted when it has no records. */
  async #writeAgain(name: string): Promise<ObjectRow> {
    const place = readObjectName(name);
    if (!place) throw new Error("no object of the store has this name");
    const standing = await auditShardAt(this.env, name).standing(name);
    const other = this.#objects.find(name);
    if (other) return other;
    reportTampering({ kind: "audit object", object: name, row: LOST_ENTRY });
    const now = currentTime();
    const { begins, openedAt, lastAt, closed, ...rest } = standing ?? {
      begins: FIRST_DIGEST,
      openedAt: now,
      lastAt: now,
      closed: true,
      seq: 0,
      digest: FIRST_DIGEST,
      bytes: 0,
      term: null,
    };
    const row: ObjectRow = {
      name,
      ...place,
      state: !standing ? "dropped" : closed ? "closed" : "open",
      begins,
      opened_at: openedAt,
      last_at: lastAt,
      ...rest,
      broken: LOST_ENTRY,
      archived: 0,
    };
    // An entry that Grove has not written may be in its place.
    this.tables.exec("DELETE FROM objects WHERE shard = ? AND number = ?", place.shard, place.number);
    this.#objects.put(row);
    await this.alarms.set();
    return row;
  }

  #newest(shard: number): ObjectRow | null {
    return this.#objects.list("WHERE shard = ? ORDER BY number DESC LIMIT 1", shard)[0] ?? null;
  }

  #nextHeadsAt(): Ms | null {
    const [last] = columnOf<Ms | null>(this.tables, "SELECT MAX(at) FROM heads");
    const [first] = columnOf<Ms | null>(this.tables, "SELECT MIN(opened_at) FROM objects");
    const since = last ?? first ?? null;
    return since === null ? null : since + HOUR_MS;
  }

  /** Signs all heads, and writes them to the log and the archive. */
  async #sign(): Promise<void> {
    const installation = await mustServe(this.env);
    await this.#compare();
    const now = currentTime();
    const jws = await signHeads(this.env, installation, this.#signed().map(objectOf), now);
    // A line of the audit log, which is written whatever LOG_LEVEL says.
    console.log(JSON.stringify({ type: "audit-head", time: formatRfc3339(now), jws }));
    // The row says that the hour is done, so it comes after the export: a crash in between repeats both.
    const archive = archiveOf(this.env);
    if (archive) await putHeads(archive, installation.clusterId, now, jws);
    this.tables.exec("INSERT OR REPLACE INTO heads (at, jws) VALUES (?, ?)", now, jws);
    this.tables.exec("DELETE FROM heads WHERE at NOT IN (SELECT at FROM heads ORDER BY at DESC LIMIT ?)", MAX_HEADS);
  }

  /**
   * The objects that a head names: in each shard all from the first that is stored to the newest, or the newest alone.
   * So a shard that was named once stays named, and its first and its last number never go down.
   */
  #signed(): ObjectRow[] {
    const shards = Map.groupBy(this.#objects.list("ORDER BY shard, number"), ({ shard }) => shard);
    return [...shards.values()].flatMap((rows) => {
      const first = rows.findIndex(({ state }) => state !== "dropped");
      return rows.slice(first < 0 ? -1 : first);
    });
  }

  /** Copies a page of a full object into the archive. */
  async #archive({ name, archived: after }: ObjectRow): Promise<void> {
    const archive = archiveOf(this.env);
    if (!archive) return;
    const { clusterId } = await mustServe(this.env);
    const page = await auditShardAt(this.env, name).archivePage(after);
    if (page.lines.length > 0) await putPage(archive, clusterId, name, after, page);
    this.#change(name, { archived: page.seq, ...(page.isEnd && { state: "archived" }) });
  }

  /**
   * Closes objects that are open for too long, and deletes expired ones, see `expiredObjects`. A deletion before the
   * archive took all of an object is on record. An object that fails does not hold up the others.
   */
  async #retain(): Promise<void> {
    const now = currentTime();
    let failures = 0;
    const attempt = async (object: string, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failures++;
        console.error(JSON.stringify({ type: RETENTION, object, error: String(error) }));
      }
    };
    for (const { name, opened_at: openedAt } of this.#objects.list("WHERE state = 'open'")) {
      if (openedAt + openMs(this.env) > now) continue;
      await attempt(name, () => auditShardAt(this.env, name).closeWhenFull(name));
    }
    const stored = this.#objects.list(`${STORED} ORDER BY last_at`);
    const hasArchive = archiveOf(this.env) !== null;
    for (const object of expiredObjects(stored, this.env, hasArchive, now)) {
      const { name, state } = object;
      await attempt(name, async () => {
        if (hasArchive && state === "closed") await this.#recordUnarchived(object, now);
        await auditShardAt(this.env, name).drop();
        this.#change(name, { state: "dropped", bytes: 0 });
      });
    }
    this.#retainAt = now + (failures > 0 ? RETRY_MS : HOUR_MS);
  }

  /** Has a shard record what was lost with isolates that ended: answered changes that they could not store. */
  async #recordLosses(): Promise<void> {
    const now = currentTime();
    const system = systemOf(this.env);
    const notes = await system.auditBacklogs();
    for (const note of notes.filter(({ at }) => at + ENDED_MS <= now)) {
      const { writer, since, at, most } = note;
      const lost = droppedRecord({ count: most, from: since, to: at }, now, { at_most: true });
      await this.#record(`lost ${writer}`, lost);
      await system.noteAuditBacklog({ ...note, most: 0 });
    }
    this.#backlogsAt = now + (notes.length > 0 ? ENDED_MS : HOUR_MS);
  }

  /** Has a shard record that an object is deleted before the archive took all of it. */
  #recordUnarchived({ name, seq, archived, opened_at: from, last_at: to }: ObjectRow, now: Ms): Promise<void> {
    return this.#record(
      `unarchived ${name}`,
      droppedRecord({ count: seq - archived, from, to }, now, { object: name }),
    );
  }

  /** Has a shard store a record of the directory. @param what names it: what is repeated at once is stored once. */
  async #record(what: string, entry: AuditEntry): Promise<void> {
    await appender(this.env)(0, { writer: what, number: 1, entries: [entry], uses: [] });
  }

  /** Changes fields of the stored entry: another request may have changed it since the caller read it. */
  #change(name: string, changes: Partial<ObjectRow>): void {
    const row = this.#objects.find(name);
    if (row) this.#objects.put({ ...row, ...changes });
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
