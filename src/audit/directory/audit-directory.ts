import { currentTime, formatRfc3339, type Ms } from "../../base/clock.ts";
import { columnOf } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { mustServe } from "../../system/installation.ts";
import { systemOf } from "../../system/system.ts";
import { appender } from "../append.ts";
import type { Head } from "../chain.ts";
import { droppedRecord } from "../dropped-record.ts";
import type { AuditEntry } from "../entry.ts";
import type { AuditEnv } from "../env.ts";
import { auditShardAt } from "../object-name.ts";
import { expiredObjects, openMs } from "../retention.ts";
import { archiveOf, putHeads, putPage } from "./archive.ts";
import { ObjectList } from "./object-list.ts";
import { signHeads } from "./signed-head.ts";
import {
  AUDIT_DIRECTORY_MIGRATIONS,
  type AuditObject,
  auditObjectOf,
  type HeadReport,
  type ObjectRow,
} from "./tables.ts";

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

/**
 * All objects of the audit store. It is the witness of their chains: an object can't lose records that it has reported
 * here without the difference being seen.
 */
export class AuditDirectory extends GroveObject<AuditEnv> {
  readonly #objects: ObjectList;
  /** When `#retain` runs next. */
  #retainAt: Ms = 0;
  /** When `#recordLosses` runs next. Not at once: after a start, requests come first. */
  #backlogsAt: Ms = currentTime() + RETRY_MS;

  constructor(ctx: DurableObjectState, env: AuditEnv) {
    super(ctx, env, AUDIT_DIRECTORY_MIGRATIONS);
    this.#objects = new ObjectList(env, this.tables, this.seals, () => this.alarms.set());
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
    await this.#objects.compare();
    const opened = await this.#objects.register(name);
    await this.#objects.compare();
    return opened;
  }

  /**
   * Stores the head of the chain of an object. `before` is the head of its chain at the record number that is stored
   * here: another digest shows that earlier records were changed or deleted. When `before` is null or has another
   * number, nothing is stored and the answer is the stored head, so that the object can call again. Otherwise the
   * answer is null. Safe to repeat.
   */
  async witness(name: string, report: HeadReport, before: Head | null): Promise<Head | null> {
    await this.#openList();
    return this.#objects.witness(name, report, before);
  }

  /** The objects that have records, the newest of each shard first. */
  async stored(): Promise<AuditObject[]> {
    await this.#openList();
    return this.#objects.list(`${STORED} ORDER BY number DESC, shard`).map(auditObjectOf);
  }

  /** The object with this name, or null. */
  async find(name: string): Promise<AuditObject | null> {
    await this.#openList();
    const row = this.#objects.find(name);
    return row && auditObjectOf(row);
  }

  /** The newest object of a shard, or null. */
  async newest(shard: number): Promise<AuditObject | null> {
    await this.#openList();
    const row = this.#objects.newest(shard);
    return row && auditObjectOf(row);
  }

  /**
   * Compares the entries with System and with the shards themselves: an object may have come after the newest one that
   * either knows. Entries that were lost are written again, and stay marked as `LOST_ENTRY`.
   */
  async checkList(): Promise<void> {
    await this.keys.open();
    await this.#objects.checkShards();
  }

  /** All objects, and the names of entries that were not written by Grove. */
  async entries(): Promise<{ readonly objects: AuditObject[]; readonly tampered: string[] }> {
    await this.keys.open();
    const { good, tampered } = this.#objects.judged("ORDER BY shard, number");
    return { objects: good.map(auditObjectOf), tampered: tampered.map(({ name }) => name) };
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

  /** Opens the keys, and compares the list once. */
  async #openList(): Promise<void> {
    await this.keys.open();
    await this.#objects.compareOnce();
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
    await this.#objects.compare();
    const now = currentTime();
    const jws = await signHeads(this.env, installation, this.#signed().map(auditObjectOf), now);
    // A line of the audit log, which is written whatever LOG_LEVEL says.
    console.log(JSON.stringify({ type: "audit-head", time: formatRfc3339(now), jws }));
    // The row says that the hour is done, so it comes after the export: a crash in between repeats both.
    const archive = archiveOf(this.env);
    if (archive) await putHeads(archive, installation.clusterId, now, jws);
    this.tables.exec("INSERT OR REPLACE INTO heads (at, jws) VALUES (?, ?)", now, jws);
    this.tables.exec("DELETE FROM heads WHERE at NOT IN (SELECT at FROM heads ORDER BY at DESC LIMIT ?)", MAX_HEADS);
  }

  /**
   * The objects that a head names: of each shard, those from the first stored one to the newest. When none is stored
   * any more, the newest is named alone. So no later head lacks a shard, or names a lower first or last number of it.
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
    this.#objects.change(name, { archived: page.seq, ...(page.isEnd && { state: "archived" }) });
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
        this.#objects.change(name, { state: "dropped", bytes: 0 });
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
}
