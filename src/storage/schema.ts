/** One step of a schema. Steps are applied in order, each once, and never edited after a release: add a new one. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly version: number;
  readonly description: string;
  /** One or more statements without parameters. */
  readonly sql: string;
}

/**
 * The tables of one object: made with its first write, and brought up to date when the object wakes. An object that is
 * merely asked something never leaves a file behind.
 */
export class Schema {
  readonly #sql: SqlStorage;
  readonly #migrations: readonly Migration[];
  #exists: boolean;

  constructor(sql: SqlStorage, migrations: readonly Migration[]) {
    this.#sql = sql;
    this.#migrations = migrations;
    this.#exists = schemaVersion(sql) > 0;
    if (this.#exists) migrate(sql, migrations);
  }

  /** False until something is written: then there is nothing to read either. */
  get exists(): boolean {
    return this.#exists;
  }

  /** Makes the tables unless they are there: every first write calls it. */
  create(): void {
    if (!this.#exists) migrate(this.#sql, this.#migrations);
    this.#exists = true;
  }

  /** The whole storage is being deleted; what is written later begins anew. */
  forget(): void {
    this.#exists = false;
  }
}

/** The version that the database of an object is at; 0 for an object that was never written. Reads only. */
function schemaVersion(sql: SqlStorage): number {
  const table = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").toArray();
  if (table.length === 0) return 0;
  return sql.exec<{ version: number }>("SELECT version FROM schema_version").one().version;
}

/**
 * Applies what is missing of `migrations`. Synchronous, so it is one transaction with the writes that follow it: the first
 * row of a new object and its tables become durable together.
 */
function migrate(sql: SqlStorage, migrations: readonly Migration[]): void {
  const from = schemaVersion(sql);
  const missing = migrations.filter((migration) => migration.version > from);
  const last = missing.at(-1);
  if (!last) return;
  if (from === 0) sql.exec("CREATE TABLE schema_version (version INTEGER NOT NULL)");
  for (const migration of missing) sql.exec(migration.sql);
  if (from === 0) sql.exec("INSERT INTO schema_version (version) VALUES (?)", last.version);
  else sql.exec("UPDATE schema_version SET version = ?", last.version);
}
