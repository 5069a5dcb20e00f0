import { clientNetworks } from "../../base/client-network.ts";
import { currentTime, isWithin, LATE, type Ms, orLate, SoonestTimer, sleep } from "../../base/clock.ts";
import { countEvent } from "../../metrics/counters.ts";
import { type AuditBatch, type AuditEntry, MAX_BATCH_ENTRIES } from "../entry.ts";
import { Backlog } from "./backlog.ts";
import { type MoreRefusals, RefusalBound } from "./refusal-bound.ts";
import { MANY_COUNTERS, UseCounts } from "./use-counts.ts";

/** Time after which an append is given to the next shard. */
export const LATE_MS: Ms = 2_000;
/** Time for which an append gathers records, when the append before it had several. */
export const GATHER_MS: Ms = 3;
/** Maximum time that an answer waits for its record, whatever the shards do. */
export const MAX_HELD_MS: Ms = 5_000;
/** Maximum time that uses and refusals wait for the append of another record. */
export const DEFERRED_MS: Ms = 10_000;
/**
 * Failed appends before a writer pauses: one for each shard, within these bounds. More would hold answers longer while
 * the store hangs.
 */
const MIN_ATTEMPTS = 2;
const MAX_ATTEMPTS = 4;
/** Pauses of an isolate that no shard serves, before it tries again. */
const FIRST_PAUSE_MS: Ms = 1_000;
const LAST_PAUSE_MS: Ms = 60_000;

/** Maximum time that an answer waits for the note that its record is not stored. */
export const MAX_NOTE_MS: Ms = 1_000;
/** The bound in a note is this many times the number of records, and at least MIN_NOTE: so a note is rarely written. */
const NOTE_FACTOR = 2;
const MIN_NOTE = 100;

/** Records of changes that were answered without being stored. */
export interface Unstored {
  /** When the first was answered. */
  readonly since: Ms;
  /** Upper bound of their number; 0: all are stored now. */
  readonly most: number;
}

/** What the writer needs of the platform. */
interface WriterPlatform {
  /** Number of shards. They are interchangeable. */
  readonly shards: number;
  /** Appends a batch to a shard. Rejects when the shard may not have stored it. */
  append(shard: number, batch: AuditBatch): Promise<void>;
  /** Notes durably, elsewhere than in the shards, what would be lost with this isolate. */
  note(unstored: Unstored): Promise<void>;
  /** Continues work after the request. */
  inBackground(work: Promise<unknown>): void;
  readonly wait?: (ms: Ms) => Promise<void>;
  readonly now?: () => Ms;
}

/**
 * Writes the audit records of an isolate to the shards of the store, in batches: records that come while an append is
 * under way go together in the next one. The store never stops the service: when no shard takes a batch, the records
 * wait in a bounded backlog, and no answer waits.
 *
 * Each append is made in the context of a request that waits for it. When that request is cancelled, another one
 * repeats the append.
 */
export class AuditWriter {
  readonly #platform: Required<WriterPlatform>;
  readonly #backlog: Backlog;
  readonly #uses = new UseCounts();
  readonly #refusals = [new RefusalBound("network"), new RefusalBound("token")] as const;
  readonly #laterTimer: SoonestTimer;
  readonly #entryOf: (more: MoreRefusals, now: Ms) => AuditEntry;
  #underWay: { readonly beganAt: Ms; readonly done: Promise<void> } | null = null;
  /** True when the last append had several records: changes come at the same time. */
  #hadSeveral = false;
  /** The shard that the next append goes to. */
  #shard: number;
  /** Failed appends since the last success. */
  #failures = 0;
  /** When to try again; null while the store works. */
  #triesAgainAt: Ms | null = null;
  /** What was answered without being stored, as it was noted last; null: nothing. */
  #unstored: Unstored | null = null;
  /** The ticket of the last of these records. */
  #lastUnstored = 0;
  /** Ends with the last note. */
  #noted: Promise<void> = Promise.resolve();

  /** @param entryOf makes the record that says how many refusals were not kept in full. */
  constructor(
    writer: string,
    platform: WriterPlatform,
    entryOf: (more: MoreRefusals, now: Ms) => AuditEntry,
    firstShard = 0,
  ) {
    this.#platform = { wait: sleep, now: currentTime, ...platform };
    const { now, wait, inBackground } = this.#platform;
    this.#laterTimer = new SoonestTimer({ now, after: (ms, work) => inBackground(wait(ms).then(work)) });
    this.#backlog = new Backlog(writer);
    this.#entryOf = entryOf;
    this.#shard = firstShard % platform.shards;
  }

  /** Number of records that no shard has confirmed. */
  get waiting(): number {
    return this.#backlog.size;
  }

  /** When the first change was answered whose record is not stored; null: there is none. */
  get unstoredSince(): Ms | null {
    return this.#unstored?.since ?? null;
  }

  /** Stores a record. Resolves when a shard has it, or when the answer must not wait any longer. */
  async store(entry: AuditEntry): Promise<void> {
    const ticket = this.#add(entry);
    const began = this.#platform.now();
    const mayWait = () => this.#triesAgainAt === null && isWithin(began, MAX_HELD_MS, this.#platform.now());
    while (ticket !== null && !this.#backlog.isStored(ticket) && mayWait()) await this.#advance();
    if (ticket !== null && this.#backlog.isStored(ticket)) return;
    this.#push();
    this.#lastUnstored = this.#backlog.last;
    const { unstored } = this.#backlog;
    if (unstored > (this.#unstored?.most ?? 0)) this.#note(Math.max(MIN_NOTE, NOTE_FACTOR * unstored));
    await orLate(this.#noted, MAX_NOTE_MS);
  }

  /** Notes that at most `most` records are not stored. */
  #note(most: number): void {
    const unstored = { since: this.#unstored?.since ?? this.#platform.now(), most };
    this.#unstored = most === 0 ? null : unstored;
    const note = this.#noted.then(() => this.#platform.note(unstored));
    this.#noted = note.catch((error: unknown) => {
      console.error(JSON.stringify({ type: "audit_store", error: String(error), ...unstored }));
    });
    this.#platform.inBackground(this.#noted);
  }

  /** Stores a record whose answer does not wait. */
  storeLater(entry: AuditEntry): void {
    this.#add(entry);
    this.#appendLater();
  }

  /**
   * True when a refusal is stored in full. Otherwise it is counted. @param token accessor or keyed hash of the caller; "":
   * there is none, and the refusal counts for the network of the client.
   */
  admitsRefusal(token: string, address: string | null): boolean {
    const [ofNetworks, ofTokens] = this.#refusals;
    const now = this.#platform.now();
    if (token !== "") return ofTokens.admit(token, now);
    return ofNetworks.admit(address === null ? "" : clientNetworks(address)[0], now);
  }

  /** Counts a use of a token. @param accessor the accessor or the keyed hash of the token. */
  countUse(accessor: string, address: string): void {
    if (!this.#uses.add(accessor, address, this.#platform.now())) countEvent("audit_record", ["dropped use"]);
    if (this.#uses.size >= MANY_COUNTERS) this.#push();
    else this.#appendLater();
  }

  /**
   * Stores the records and uses that came before the call, as far as the shards take them. What comes meanwhile does not
   * prolong it, and it begins nothing after `MAX_HELD_MS`.
   */
  async settle(): Promise<void> {
    const { last } = this.#backlog;
    const batch = this.#backlog.lastBatch(this.#uses.size > 0);
    const began = this.#platform.now();
    const isStored = () => this.#backlog.isStored(last) && this.#backlog.isConfirmed(batch);
    while (!isStored() && isWithin(began, MAX_HELD_MS, this.#platform.now())) {
      if (!(await this.#advance()) && this.#triesAgainAt !== null) return;
    }
    await orLate(this.#noted, MAX_NOTE_MS);
  }

  #add(entry: AuditEntry): number | null {
    const ticket = this.#backlog.add(entry);
    if (ticket === null) countEvent("audit_record", ["dropped"]);
    else countEvent("audit_waiting", []);
    return ticket;
  }

  #appendLater(): void {
    // A full batch does not wait.
    if (this.#triesAgainAt !== null || this.#backlog.size >= MAX_BATCH_ENTRIES) this.#push();
    else this.#laterTimer.in(DEFERRED_MS, () => this.#platform.inBackground(this.#flush()));
  }

  /** Begins to send what waits, in the background, unless it is too early. */
  #push(): void {
    const now = this.#platform.now();
    if (this.#triesAgainAt !== null && now < this.#triesAgainAt) return;
    if (this.#underWay && isWithin(this.#underWay.beganAt, LATE_MS, now)) return;
    this.#platform.inBackground(this.#flush());
  }

  /** Stores what waits, as far as the shards take it, also what comes meanwhile. */
  async #flush(): Promise<void> {
    while (this.#hasWork() && (await this.#advance()));
  }

  #hasWork(): boolean {
    return this.#backlog.hasNews || this.#uses.size > 0 || this.#underWay !== null;
  }

  /** Waits for the append that is under way, or makes the next one. Returns false when it failed or was not due. */
  async #advance(): Promise<boolean> {
    const { now } = this.#platform;
    const other = this.#underWay;
    const left = other ? other.beganAt + LATE_MS - now() : 0;
    if (other && left > 0) {
      await orLate(other.done, left);
      return this.#triesAgainAt === null;
    }
    if (this.#triesAgainAt !== null && now() < this.#triesAgainAt) return false;
    const done = this.#append();
    const mine = { beganAt: now(), done: done.then(() => {}) };
    this.#underWay = mine;
    const isStored = await done;
    if (this.#underWay === mine) this.#underWay = null;
    return isStored;
  }

  /** Sends one batch to one shard. */
  async #append(): Promise<boolean> {
    const { shards, append, now, wait } = this.#platform;
    // Gathering saves appends while changes come together. Changes that come one after the other don't wait.
    if (this.#hadSeveral && this.#backlog.size < MAX_BATCH_ENTRIES) await wait(GATHER_MS);
    for (const more of this.#refusals.flatMap((bound) => bound.takeEnded(now()))) this.#add(this.#entryOf(more, now()));
    const batch = this.#backlog.next(() => this.#uses.take(), now());
    if (!batch) return true;
    this.#hadSeveral = batch.entries.length > 1;
    const shard = this.#shard;
    try {
      if ((await orLate(append(shard, batch), LATE_MS)) === LATE) throw new Error(`no answer in ${LATE_MS} ms`);
    } catch (error) {
      // Another request may have repeated the append meanwhile.
      if (this.#shard === shard) this.#shard = (shard + 1) % shards;
      this.#noteFailure(error);
      return false;
    }
    this.#failures = 0;
    this.#triesAgainAt = null;
    const confirmed = this.#backlog.confirm(batch);
    countEvent("audit_waiting", [], -confirmed);
    countEvent("audit_record", ["stored"], confirmed);
    if (this.#unstored && this.#backlog.isStored(this.#lastUnstored) && !this.#backlog.hasDropped) this.#note(0);
    return true;
  }

  #noteFailure(error: unknown): void {
    this.#failures++;
    countEvent("audit_append_failure", []);
    const enough = Math.min(Math.max(this.#platform.shards, MIN_ATTEMPTS), MAX_ATTEMPTS);
    if (this.#failures < enough) return;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - enough), LAST_PAUSE_MS);
    this.#triesAgainAt = this.#platform.now() + pause;
    // A note that is not renewed is taken for one of an isolate that has ended.
    if (this.#unstored) this.#note(this.#unstored.most);
    const message = error instanceof Error ? error.message.slice(0, 200) : "";
    console.error(JSON.stringify({ type: "audit_store", error: message, waiting: this.#backlog.size }));
  }
}
