import { currentTime, inTime, type Ms } from "../../base/clock.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { sealText, termOfSealed } from "../../crypto/sealed-data.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { type Installation, mustLoadInstallation } from "../../system/installation.ts";
import { rowGroups, storedLine, textOfRow } from "../batch-text.ts";
import { digestAfter, type Head } from "../chain.ts";
import type { HeadReport } from "../directory/tables.ts";
import type { AppendAnswer, AuditBatch, AuditEntry } from "../entry.ts";
import type { AuditEnv } from "../env.ts";
import { mentionKeys } from "../mention-keys.ts";
import { auditDirectoryOf } from "../object-name.ts";
import type { AuditPage, AuditQuery, AuditUse } from "../query.ts";
import { openBytes, openMs } from "../retention.ts";
import { type ArchivePage, linesAfter } from "./archive-page.ts";
import { noteTaken, takenFrom } from "./batch-deduplication.ts";
import { type AuditProblem, ChainCheck, type CheckStep } from "./chain-check.ts";
import { MentionIndex } from "./mention-index.ts";
import { AuditReader } from "./reader.ts";
import { addressContext, rowContext } from "./rows.ts";
import { ABOUT, type AboutRow, AUDIT_SHARD_MIGRATIONS, BATCH, type BatchRow } from "./tables.ts";
import { addressesOf, type SealedAddress, writeAddresses, writeUses } from "./uses.ts";

/** Time from a record to the report of the head of the chain to the directory. */
const WITNESS_MS = 10_000;
const RETRY_MS = 10_000;
/** Maximum time of a call to the directory for that report. Appends wait for it. */
const MAX_REPORT_MS = 1_000;
const WITNESS = "audit witness";

/**
 * One object of the audit store: records in the order in which they came, in a chain. It is full after a time or at a
 * size; then the next object of its shard goes on with the chain. Its name is given by the caller, and is stored with
 * the first record.
 */
export class AuditShard extends GroveObject<AuditEnv> {
  readonly #about: SealedTable<AboutRow>;
  readonly #batches: SealedTable<BatchRow>;
  readonly #reader: AuditReader;
  readonly #check: ChainCheck;
  readonly #index: MentionIndex;
  /** The row about this object, as it is stored; null while it is not known. */
  #known: AboutRow | null = null;
  /** Ends with the work whose turn it is. See `#inTurn`. */
  #turn: Promise<unknown> = Promise.resolve();
  #head: StoredHead | null = null;
  /** The head that the directory knows; null while this instance has not reported one. */
  #witnessed: Head | null = null;
  /** Since when the directory does not know the head; null: it knows it. */
  #unknownSince: Ms | null = 0;

  constructor(ctx: DurableObjectState, env: AuditEnv) {
    super(ctx, env, AUDIT_SHARD_MIGRATIONS);
    this.#about = new SealedTable(this.tables, this.seals, ABOUT);
    this.#batches = new SealedTable(this.tables, this.seals, BATCH);
    this.#check = new ChainCheck(this.tables, this.origin.id, this.#about, this.#batches);
    this.#reader = new AuditReader(this.tables, this.origin.id);
    this.#index = new MentionIndex(this.tables, this.origin.id, (work) => ctx.storage.transactionSync(work));
    this.alarms.add(WITNESS, {
      dueAt: () => (this.#unknownSince === null ? null : this.#unknownSince + WITNESS_MS),
      run: () => this.#inTurn(() => this.#report()),
      pauseMs: () => RETRY_MS,
    });
  }

  /**
   * Stores a batch in one transaction. Safe to repeat: a batch is known by its writer and number. "full" when the
   * object takes nothing more; the directory already knows it then. @param name of this object.
   */
  async append(name: string, batch: AuditBatch): Promise<AppendAnswer> {
    return this.#inTurn(() => this.#append(name, batch));
  }

  /** Returns records, at most `limit` of the question. */
  async query(question: AuditQuery): Promise<AuditPage> {
    const { keys } = await mustLoadInstallation(this.env);
    await this.keys.open();
    await this.#indexAll(keys);
    return this.#reader.page(keys, question, this.#lastSeq());
  }

  /** Returns the uses of a token in whole hours before one, the newest first. See `AuditReader.uses`. */
  async uses(accessor: string, from: Ms, before: Ms): Promise<{ uses: AuditUse[]; more: boolean }> {
    const { keys } = await mustLoadInstallation(this.env);
    return this.#reader.uses(keys, accessor, from, before);
  }

  /** What the object says of itself, for a directory that has lost its entry; null when it has no records. */
  async standing(name: string): Promise<Standing | null> {
    await this.keys.open();
    const about = this.#about.find(1);
    if (about?.name !== name) return null;
    return { ...this.#reportOf(about), begins: about.begins, openedAt: about.opened_at };
  }

  /** Compares the object with its entry in the directory. Returns what is wrong, or null. */
  async verifyBegin(name: string, begins: string): Promise<AuditProblem | null> {
    await this.keys.open();
    return this.#check.begin(name, begins);
  }

  /** Checks some records after `from`, for `sys/audit/verify`. `known`: the head that the directory knows. */
  async verifyStep(from: Head, known: Head): Promise<CheckStep> {
    const { keys } = await mustLoadInstallation(this.env);
    await this.keys.open();
    await this.#indexAll(keys);
    return this.#check.step(keys, from, known);
  }

  /** Returns a page of lines after the record `seq`, for the archive. See `linesAfter`. */
  async archivePage(seq: number): Promise<ArchivePage> {
    const { keys } = await mustLoadInstallation(this.env);
    return linesAfter(this.tables, keys, this.origin.id, seq);
  }

  /** Takes nothing more if it is full, and tells the directory. */
  async closeWhenFull(name: string): Promise<void> {
    await this.#inTurn(async () => {
      await this.keys.open();
      if (this.#about.count() > 0) await this.#open(name);
    });
  }

  /** Deletes all records of a full object. Safe to repeat. */
  async drop(): Promise<void> {
    await this.#inTurn(async () => {
      await this.keys.open();
      const about = this.#about.find(1);
      if (about?.closed === 0) throw new Error("the object takes records");
      if (!this.tables.exist) return;
      this.#head = null;
      this.#known = null;
      this.#index.clear();
      this.#unknownSince = null;
      await this.wipe();
    });
  }

  /**
   * Runs work that reads state of the object, awaits and then writes: one at a time, so that the state does not change
   * in between.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #append(name: string, batch: AuditBatch): Promise<AppendAnswer> {
    const installation = await mustLoadInstallation(this.env);
    await this.keys.open();
    const taken = takenFrom(this.tables, batch.writer);
    if (taken.includes(batch.number)) return "stored";
    const about = await this.#open(name);
    if (!about) return "full";
    const rows = await this.#rowsFor(installation, about, batch.entries);
    const keyOf = await mentionKeys(installation.keys);
    const addresses = await this.#sealedAddresses(installation, batch, keyOf);
    // A transaction that is rolled back would drop the tables that were created in it.
    this.tables.create();
    this.ctx.storage.transactionSync(() => {
      if (!this.#known) this.#about.put(about);
      for (const { row } of rows) this.#batches.put(row);
      writeAddresses(this.tables, addresses);
      writeUses(this.tables, batch.uses, keyOf);
      noteTaken(this.tables, batch, taken, currentTime());
    });
    this.#known = about;
    for (const { row, entries } of rows)
      this.#index.add(
        row.first_seq,
        entries.map(({ mentions }) => mentions.map(keyOf)),
      );
    await this.#moved(rows.at(-1)?.row);
    if (this.#index.isBehind) this.ctx.waitUntil(this.#indexAll(installation.keys));
    return "stored";
  }

  #indexAll(keys: Keys): Promise<void> {
    return this.#inTurn(() => this.#index.catchUp(keys));
  }

  /** The row about this object, as it is or is going to be stored; null when it takes nothing more. */
  async #open(name: string): Promise<AboutRow | null> {
    this.#known ??= this.#about.find(1);
    const about = this.#known;
    const now = currentTime();
    if (!about) {
      if (this.#about.count() > 0) throw new Error("the row about the object was changed");
      const opened = await auditDirectoryOf(this.env).open(name);
      return opened && { one: 1, name, begins: opened.begins, opened_at: now, closed: 0 };
    }
    if (about.name !== name) throw new Error("the object has another name");
    const isOld = now >= about.opened_at + openMs(this.env);
    if (about.closed === 0 && !isOld && this.ctx.storage.sql.databaseSize < openBytes(this.env)) return about;
    if (about.closed === 0) {
      const full = { ...about, closed: 1 };
      this.#about.put(full);
      this.#known = full;
      this.#unknownSince ??= now;
    }
    // The next object begins with the end of this chain, so the directory has it before the writer goes on.
    if (this.#unknownSince !== null) await this.#report();
    return null;
  }

  async #rowsFor({ keys }: Installation, { begins }: AboutRow, entries: readonly AuditEntry[]) {
    let { seq, digest, at } = this.#head ?? this.#lastHead(begins);
    at = Math.max(at, currentTime());
    const rows: { readonly row: BatchRow; readonly entries: readonly AuditEntry[] }[] = [];
    for (const group of rowGroups(entries)) {
      const firstSeq = seq + 1;
      digest = digestAfter(digest, group.map(storedLine));
      const sealed = await sealText(keys, rowContext(this.origin.id, firstSeq), textOfRow(group));
      const since = Math.min(...group.map((entry) => entry.at));
      const row = { first_seq: firstSeq, count: group.length, at, since, digest, sealed: sealed.buffer };
      rows.push({ row, entries: group });
      seq += group.length;
    }
    return rows;
  }

  async #sealedAddresses({ keys }: Installation, { uses }: AuditBatch, keyOf: (text: string) => number) {
    const sealed: SealedAddress[] = [];
    for (const [key, address] of addressesOf(this.tables, uses, keyOf)) {
      sealed.push({ key, sealed: await sealText(keys, addressContext(this.origin.id, key), address) });
    }
    return sealed;
  }

  async #moved(last: BatchRow | undefined): Promise<void> {
    if (!last) return;
    this.#head = headAfter(last);
    this.#unknownSince ??= currentTime();
    await this.alarms.set();
  }

  #lastHead(begins: string): StoredHead {
    const { good, tampered } = this.#batches.judged("ORDER BY first_seq DESC LIMIT 1");
    // The chain goes on after a tampered row: a check reports the row, and later records are not lost.
    const last = good[0] ?? tampered[0];
    return last ? headAfter(last) : { seq: 0, digest: begins, at: 0 };
  }

  #lastSeq(): number {
    return (this.#head ?? this.#lastHead("")).seq;
  }

  /** Reports the head of the chain to the directory, and how the chain stands at the head that the directory knows. */
  async #report(): Promise<void> {
    const about = this.#about.find(1);
    if (!about) return;
    const report = this.#reportOf(about);
    const head = { seq: report.seq, digest: report.digest };
    // A call that comes late changes nothing: it names a head that the directory does not know any more.
    const directory = auditDirectoryOf(this.env);
    const witness = (before: Head | null) =>
      inTime<Head | null>(directory.witness(about.name, report, before), MAX_REPORT_MS);
    const known = await witness(this.#witnessed);
    if (known && (await witness(this.#headAt(known.seq, about.begins)))) {
      throw new Error("the directory got another head meanwhile");
    }
    this.#witnessed = head;
    this.#unknownSince = null;
  }

  #reportOf({ begins, closed }: AboutRow): HeadReport {
    const { at: lastAt, seq, digest } = this.#head ?? this.#lastHead(begins);
    const [first] = this.#batches.list("ORDER BY first_seq LIMIT 1");
    const term = first ? termOfSealed(new Uint8Array(first.sealed)) : null;
    return { seq, digest, closed: closed === 1, lastAt, bytes: this.ctx.storage.sql.databaseSize, term };
  }

  /** The head after the record `seq`; with an empty digest when no row ends with that record. */
  #headAt(seq: number, begins: string): Head {
    if (seq === 0) return { seq, digest: begins };
    const [row] = this.#batches.list("WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1", seq);
    const found = row && headAfter(row);
    return { seq, digest: found?.seq === seq ? found.digest : "" };
  }
}

/** An object as it describes itself. */
interface Standing extends HeadReport {
  readonly begins: string;
  readonly openedAt: Ms;
}

interface StoredHead extends Head {
  readonly at: Ms;
}

function headAfter({ first_seq, count, digest, at }: BatchRow): StoredHead {
  return { seq: first_seq + count - 1, digest, at };
}
