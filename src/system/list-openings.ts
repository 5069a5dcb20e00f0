import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import type { PartVersionStore } from "./part-versions.ts";

/*
 * The shards of the lists of tokens come in generations. Which tokens are whose follows from the times at which the later ones open.
 */

/** Generations that can open after the first one. A request can ask the shards of three a few times; of four it could not. */
export const MAX_LIST_OPENINGS = 2;

/** When generations after the first one open (ms), the earliest first, as this isolate knows it. */
let known: readonly number[] = [];

/**
 * When the generations of shards after the first one open (ms), the earliest first. Only what was loaded with the installation is known:
 * an object loads it before it asks.
 */
export function listOpenings(): readonly number[] {
  return known;
}

/** This isolate has read when generations open. */
export function noteListOpenings(openings: readonly number[]): void {
  known = openings;
}

/** The schema of the generations of shards, beside that of the installation. */
export const LIST_OPENING_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "when generations of shards of the lists open",
    sql: "CREATE TABLE list_openings (generation INTEGER PRIMARY KEY, opens_at INTEGER NOT NULL, seal BLOB);",
  },
];

interface OpeningRow extends Record<string, SqlStorageValue> {
  generation: number;
  opens_at: number;
}

const OPENINGS: TableShape = {
  table: "list_openings",
  kind: "list opening",
  key: ["generation"],
  sealed: ["opens_at"],
};

/** When the generations of shards after the first one open. A row is never changed: it decides where tokens are listed. */
export class ListOpeningStore {
  readonly #sealed: SealedTable<OpeningRow>;
  readonly #versions: PartVersionStore;

  constructor(sql: SqlStorage, seals: RowSeals, versions: PartVersionStore) {
    this.#versions = versions;
    this.#sealed = new SealedTable(new Tables(sql, LIST_OPENING_MIGRATIONS, "list_openings"), seals, OPENINGS);
  }

  /** When they open (ms), in the order of generations. */
  all(): number[] {
    return this.#sealed.list("ORDER BY generation").map(({ opens_at }) => opens_at);
  }

  /**
   * Has the generation after the first `generation` ones open at `opensAt` (ms). Nothing is written when there are more of them or
   * fewer, when that is not after the last opening, and when there can be no more.
   */
  add(generation: number, opensAt: number): void {
    const openings = this.all();
    const isNext = generation === openings.length + 1 && this.#sealed.count() === openings.length;
    if (!isNext || openings.length >= MAX_LIST_OPENINGS || opensAt <= (openings.at(-1) ?? 0)) return;
    this.#sealed.put({ generation, opens_at: opensAt });
    this.#versions.change("lists");
  }
}
