/** The table of the shards of entities that have ever written. Lists and counts ask these alone. */
export class ShardStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a shard. Safe to repeat. */
  add(number: number): void {
    this.#sql.exec("INSERT OR IGNORE INTO entity_shards (number) VALUES (?)", number);
  }

  /** Their numbers, in order. */
  all(): number[] {
    const rows = this.#sql.exec<{ number: number }>("SELECT number FROM entity_shards ORDER BY number").toArray();
    return rows.map(({ number }) => number);
  }
}
