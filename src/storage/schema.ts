/** One step of a schema. Steps are applied in order, each once, and never edited after a release: add a new one. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly version: number;
  readonly description: string;
  /** One or more statements without parameters. */
  readonly sql: string;
}

/**
 * Tables of one object: made with the first write to them, and brought up to date when the object wakes. An object that is
 * merely asked something gets no tables. An object that many have only one row of can have several: each table
 * and each index that is not made spares its first write a page of the file.
 */
export class Schema {
  readonly #sql: SqlStorage;
  readonly #migrations: readonly Migration[];
  /** The view that tells the version. */
  readonly #view: string;
  #exists: boolean;

  /**
   * @param name of these tables among those of the object.
   * @param versions as `readVersions` gives them: an object with several schemas reads them once.
   */
  constructor(sql: SqlStorage, migrations: readonly Migration[], name = "schema", versions = readVersions(sql)) {
    this.#sql = sql;
    this.#migrations = migrations;
    this.#view = `${name}_version`;
    const version = versions.get(this.#view) ?? 0;
    this.#exists = version > 0;
    if (this.#exists) this.#migrate(version);
  }

  /** False until something is written: then there is nothing to read either. */
  get exists(): boolean {
    return this.#exists;
  }

  /** Makes the tables unless they are there: every first write calls it. */
  create(): void {
    if (!this.#exists) this.#migrate(0);
    this.#exists = true;
  }

  /** The whole storage is being deleted; what is written later begins anew. */
  forget(): void {
    this.#exists = false;
  }

  /**
   * Applies what is missing. Synchronous, so it is one transaction with the writes that follow it: the first row of a new
   * object and its tables become durable together. The version is a view, as a table would cost a page for one number.
   */
  #migrate(from: number): void {
    const missing = this.#migrations.filter((migration) => migration.version > from);
    const last = missing.at(-1);
    if (!last) return;
    for (const migration of missing) this.#sql.exec(migration.sql);
    if (from > 0) this.#sql.exec(`DROP VIEW ${this.#view}`);
    this.#sql.exec(`CREATE VIEW ${this.#view} AS SELECT ${last.version} AS version`);
  }
}

/** Versions of the schemas of an object, by the view that tells them. */
export type SchemaVersions = ReadonlyMap<string, number>;

/** What the views of versions say, from their texts: one query for all of them. */
export function readVersions(sql: SqlStorage): SchemaVersions {
  const views = sql.exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'view'");
  return new Map(views.toArray().map((view) => [view.name, versionIn(view.sql)]));
}

function versionIn(view: string): number {
  const version = /AS SELECT (\d+) AS version$/.exec(view)?.[1];
  if (version === undefined) throw new Error("a view of versions has another text");
  return Number(version);
}
