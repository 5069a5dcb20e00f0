import type { Ms } from "../base/clock.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/*
 * The shards of the token lists come in generations. A token is listed in the newest generation that had opened when
 * the token was created.
 */

/**
 * Maximum number of generations after the first one. The platform's limit of calls lets a request call all shards of
 * three generations a few times, but not those of four.
 */
export const MAX_LIST_OPENINGS = 2;

/** Opening times of the generations after the first one, the earliest first, as this isolate last read them. */
let known: readonly Ms[] = [];

/**
 * Opening times of the generations of shards after the first one, the earliest first. They are those of this
 * isolate's copy of the installation, so an object loads the installation before it calls this.
 */
export function listOpenings(): readonly Ms[] {
  return known;
}

/** Stores the opening times that this isolate has read. */
export function noteListOpenings(openings: readonly Ms[]): void {
  known = openings;
}

/** The schema of the generations of shards. Its versions are independent of those of the installation's schema. */
export const LIST_OPENING_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "when generations of shards of the lists open",
    sql: "CREATE TABLE list_openings (generation INTEGER PRIMARY KEY, opens_at INTEGER NOT NULL, seal BLOB);",
  },
];

const SHAPE: TableShape = { table: "list_openings", kind: "list opening", key: ["generation"], sealed: ["opens_at"] };

/** Opening times of the generations after the first. A row never changes: it decides where tokens are listed. */
export class ListOpeningStore extends SystemStore {
  readonly #tables = new Tables(this.storage, LIST_OPENING_MIGRATIONS, "list_openings");
  readonly #sealed = new SealedTable<{ generation: number; opens_at: Ms }>(this.#tables, this.seals, SHAPE);

  all(): number[] {
    return this.#sealed.list("ORDER BY generation").map(({ opens_at }) => opens_at);
  }

  /**
   * Schedules the opening of the generation `generation` (the first one is 0) at `opensAt`. Writes nothing when
   * that is not the next generation, when a row was tampered with, when `opensAt` is not after the last opening, and
   * when there are `MAX_LIST_OPENINGS`.
   */
  add(generation: number, opensAt: Ms): void {
    const openings = this.all();
    const isNext = generation === openings.length + 1 && this.#sealed.count() === openings.length;
    if (!isNext || openings.length >= MAX_LIST_OPENINGS || opensAt <= (openings.at(-1) ?? 0)) return;
    this.#sealed.put({ generation, opens_at: opensAt });
    this.changed("lists");
  }
}
