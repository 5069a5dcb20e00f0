import type { Ms } from "../base/clock.ts";
import { addTraffic, NO_TRAFFIC, SLOT_MS, slotOf, type Traffic } from "../metrics/traffic.ts";
import { type Migration, storedJson, type Tables, upsert } from "../storage/tables.ts";

export const HISTORY_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "what happened in the last day, and the nodes of a cluster",
    sql: `
      CREATE TABLE history (slot INTEGER PRIMARY KEY, sample TEXT NOT NULL);
      CREATE TABLE nodes (name TEXT PRIMARY KEY, release TEXT NOT NULL, seen_at INTEGER NOT NULL) WITHOUT ROWID;
    `,
  },
];

const DAY_MS = 86_400_000;

/** Limit for the clock of an isolate that is ahead: its counts go into the last slot within it. */
const MAX_AHEAD_MS = 2 * SLOT_MS;
const MAX_NODES = 100;

/** Numbers of the installation at one moment. */
export interface LiveCounts {
  readonly tokens: number;
  readonly leases: number;
}

/** What all isolates that reported counted within a slot, and the last known numbers of the installation. */
interface HistorySample {
  readonly traffic: Traffic;
  /** null: not counted in this slot. */
  readonly live: LiveCounts | null;
}

/** A sample with the start of its slot. */
export interface HistorySlot extends HistorySample {
  readonly at: Ms;
}

/** A node of a cluster, as it last reported itself. */
export interface SeenNode {
  readonly name: string;
  readonly release: string;
  readonly seenAt: Ms;
}

/**
 * The history of a day in slots of five minutes, and the nodes of a cluster. It decides about nothing, so its rows have
 * no seal, and it is in no backup.
 */
export class HistoryStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Adds what an isolate counted at about `at`, and deletes slots older than a day. */
  add(at: Ms, traffic: Traffic, live: LiveCounts | null, now: Ms): void {
    const slot = slotOf(Math.min(at, now + MAX_AHEAD_MS));
    const query = "SELECT sample FROM history WHERE slot = ?";
    const [row] = this.#tables.exec<{ sample: string }>(query, slot).toArray();
    const before = row ? storedJson<HistorySample>(row.sample) : { traffic: NO_TRAFFIC, live: null };
    const sample: HistorySample = { traffic: addTraffic(before.traffic, traffic), live: live ?? before.live };
    upsert(this.#tables, "history", ["slot"], { slot, sample: JSON.stringify(sample) });
    this.#tables.exec("DELETE FROM history WHERE slot <= ?", slotOf(now) - DAY_MS);
  }

  /** The slots of the day before `now` in which something was reported, the oldest first. */
  day(now: Ms): HistorySlot[] {
    const query = "SELECT slot, sample FROM history WHERE slot > ? ORDER BY slot";
    const rows = this.#tables.exec<{ slot: Ms; sample: string }>(query, slotOf(now) - DAY_MS).toArray();
    return rows.map(({ slot, sample }) => ({ at: slot, ...storedJson<HistorySample>(sample) }));
  }

  /** Records that a node is up; only the `MAX_NODES` seen last are kept. */
  see({ name, release, seenAt }: SeenNode): void {
    upsert(this.#tables, "nodes", ["name"], { name, release, seen_at: seenAt });
    const kept = "SELECT name FROM nodes ORDER BY seen_at DESC LIMIT ?";
    this.#tables.exec(`DELETE FROM nodes WHERE seen_at <= ? OR name NOT IN (${kept})`, seenAt - DAY_MS, MAX_NODES);
  }

  /** Forgets a node that was stopped on purpose. Safe to repeat. */
  forget(name: string): void {
    this.#tables.exec("DELETE FROM nodes WHERE name = ?", name);
  }

  /** The nodes seen in the last day, by name. */
  nodes(): SeenNode[] {
    const query = "SELECT name, release, seen_at AS seenAt FROM nodes ORDER BY name";
    return this.#tables.exec<{ name: string; release: string; seenAt: Ms }>(query).toArray();
  }
}
