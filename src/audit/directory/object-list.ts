import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { type RowSeals, reportTampering } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import type { Sql } from "../../storage/tables.ts";
import type { AuditObjectNumber } from "../../system/audit-numbers.ts";
import { systemOf } from "../../system/system.ts";
import { FIRST_DIGEST, type Head } from "../chain.ts";
import type { AuditEnv } from "../env.ts";
import { auditShardAt, nameOfObject, readObjectName } from "../object-name.ts";
import { type HeadReport, LOST_ENTRY, OBJECT, type ObjectRow } from "./tables.ts";

/**
 * The list of the objects of the store, with the heads of their chains. System knows the number of the newest object of
 * each shard, so an entry that was deleted is missed, and written again.
 */
export class ObjectList extends SealedTable<ObjectRow> {
  readonly #env: AuditEnv;
  readonly #sql: Sql;
  /** Called when an alarm may be due earlier. */
  readonly #onChange: () => Promise<void>;
  /** True when this instance has compared its entries with the numbers that System knows. */
  #isCompared = false;

  constructor(env: AuditEnv, sql: Sql, seals: RowSeals, onChange: () => Promise<void>) {
    super(sql, seals, OBJECT);
    this.#env = env;
    this.#sql = sql;
    this.#onChange = onChange;
  }

  /** The newest object of a shard, or null. */
  newest(shard: number): ObjectRow | null {
    return this.list("WHERE shard = ? ORDER BY number DESC LIMIT 1", shard)[0] ?? null;
  }

  /** Adds an object. See `AuditDirectory.open`. */
  async register(name: string): Promise<{ readonly begins: string } | null> {
    const place = readObjectName(name);
    if (!place) throw new Error("no object of the store has this name");
    const known = this.find(name);
    if (known?.state === "open" && known.seq === 0) return { begins: known.begins };
    // The object has lost its records: otherwise it would not register again. The shard goes on with the next object.
    if (known?.state === "open") this.put({ ...this.#cut(known), state: "closed" });
    if (known) return null;
    const last = this.newest(place.shard);
    if (last && last.number >= place.number) return null;
    if (last?.state === "open" || place.number !== (last?.number ?? 0) + 1) {
      throw new Error("the object before it is not full");
    }
    const now = currentTime();
    const begins = last?.digest ?? FIRST_DIGEST;
    const head = { seq: 0, digest: begins, bytes: 0, term: null, broken: null, archived: 0 };
    this.put({ name, ...place, state: "open", begins, opened_at: now, last_at: now, ...head });
    await this.#onChange();
    return { begins };
  }

  /** Stores the head of the chain of an object. See `AuditDirectory.witness`. */
  async witness(name: string, report: HeadReport, before: Head | null): Promise<Head | null> {
    const known = this.find(name) ?? (await this.#writeAgain(name));
    if (before?.seq !== known.seq) return { seq: known.seq, digest: known.digest };
    const row = before.digest === known.digest ? known : this.#cut(known);
    const { closed, lastAt, seq, digest, bytes, term } = report;
    const state = known.state === "open" && closed ? "closed" : known.state;
    this.put({ ...row, state, last_at: lastAt, seq, digest, bytes, term });
    if (state !== known.state) await this.#onChange();
    return null;
  }

  /** Changes fields of the stored entry: another request may have changed it since the caller read it. */
  change(name: string, changes: Partial<ObjectRow>): void {
    const row = this.find(name);
    if (row) this.put({ ...row, ...changes });
  }

  /** Tells System the numbers of the newest objects, and writes entries again that are missing up to those it knows. */
  async compare(): Promise<void> {
    const known = await systemOf(this.#env).noteAuditObjects(this.#numbers());
    const named = new Set(this.list().map(({ name }) => name));
    for (const { shard, number: last } of known) {
      for (let number = 1; number <= last; number++) {
        const name = nameOfObject({ shard, number });
        if (!named.has(name)) await this.#writeAgain(name);
      }
    }
    this.#isCompared = true;
  }

  /** Compares the list once. A failure does not hold up the caller: `checkShards` shows it. */
  async compareOnce(): Promise<void> {
    if (this.#isCompared) return;
    await this.compare().catch((error: unknown) => {
      console.error(JSON.stringify({ type: "audit list", error: String(error) }));
    });
  }

  /** Compares the entries with System and the shards. See `AuditDirectory.checkList`. */
  async checkShards(): Promise<void> {
    await this.compare();
    const newest = new Map(Array.from({ length: this.#env.deployment.auditShards }, (_, shard) => [shard, 0]));
    for (const { shard, number } of this.#numbers()) newest.set(shard, number);
    await inGroups([...newest], async ([shard, number]) => {
      for (let next = number + 1; ; next++) {
        const name = nameOfObject({ shard, number: next });
        const standing = await auditShardAt(this.#env, name).standing(name);
        if (!standing || this.find(name)) return;
        await this.#writeAgain(name);
      }
    });
  }

  /** The numbers of the newest objects. */
  #numbers(): AuditObjectNumber[] {
    const newest = new Map<number, number>();
    for (const { shard, number } of this.list("ORDER BY number")) newest.set(shard, number);
    return [...newest].map(([shard, number]) => ({ shard, number }));
  }

  /** Writes the entry of an object again, as the object describes itself, or as deleted when it has no records. */
  async #writeAgain(name: string): Promise<ObjectRow> {
    const place = readObjectName(name);
    if (!place) throw new Error("no object of the store has this name");
    const standing = await auditShardAt(this.#env, name).standing(name);
    const other = this.find(name);
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
    this.#sql.exec("DELETE FROM objects WHERE shard = ? AND number = ?", place.shard, place.number);
    this.put(row);
    await this.#onChange();
    return row;
  }

  /** Reports that an object lacks records that were known, and notes from where on. The earliest place stays. */
  #cut(known: ObjectRow): ObjectRow {
    reportTampering({ kind: "audit object", object: known.name, row: known.seq });
    return { ...known, broken: Math.min(known.broken ?? known.seq, known.seq) };
  }
}
