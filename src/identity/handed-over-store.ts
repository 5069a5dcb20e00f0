/** What `Identity` knows of the shards of entities: which there are, and what they handed over. */
export class HandedOverStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a shard that is about to write. @returns whether there can be aliases from before there were shards. */
  admit(shard: number): boolean {
    this.#sql.exec("INSERT OR IGNORE INTO entity_shards (number) VALUES (?)", shard);
    return this.#sql.exec<{ exist: number }>("SELECT exist FROM older_aliases").one().exist === 1;
  }

  /** Numbers of the shards that have ever written, in order. */
  shards(): number[] {
    return this.#sql
      .exec<{ number: number }>("SELECT number FROM entity_shards ORDER BY number")
      .toArray()
      .map(({ number }) => number);
  }

  /** Notes that an entity was handed over. @returns false when it was before: it may have been changed or deleted since. */
  note(entityId: string): boolean {
    return this.#sql.exec("INSERT OR IGNORE INTO handed_over (entity_id) VALUES (?)", entityId).rowsWritten > 0;
  }
}
