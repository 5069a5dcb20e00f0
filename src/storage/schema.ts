/** One step of a schema. Steps are applied in order, each once. A released step is never edited: add a new one. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly version: number;
  readonly description: string;
  /** One or more statements without parameters. */
  readonly sql: string;
}

/**
 * The tables of one object. The first write creates them, and migrations bring them up to date when the object wakes. An
 * object that is only read gets no tables. An object can have several schemas: each table and each index that is not created
 * saves the first write a page of the file.
 */
export class Schema {
  readonly #sql: SqlStorage;
  readonly #migrations: readonly Migration[];
  /** The view that holds the version. */
  readonly #view: string;
  #exists: boolean;

  /**
   * @param name of these tables among those of the object.
   * @param versions as `readVersions` gives them: an object with several schemas reads them once.
   * @throws when the storage has a version that this release does not know. Working on it could corrupt it.
   */
  constructor(sql: SqlStorage, migrations: readonly Migration[], name = "schema", versions = readVersions(sql)) {
    this.#sql = sql;
    this.#migrations = migrations;
    this.#view = `${name}_version`;
    const version = versions.get(this.#view) ?? 0;
    const newest = migrations.at(-1)?.version ?? 0;
    if (version > newest) {
      throw new Error(
        `the storage has version ${version} of "${name}", which another release wrote; this one has ${newest}`,
      );
    }
    this.#exists = version > 0;
    if (this.#exists) this.#migrate(version);
  }

  /** False until the first write: there is nothing to read before. */
  get exists(): boolean {
    return this.#exists;
  }

  /** Creates the tables unless they exist: every write calls it first. */
  create(): void {
    if (!this.#exists) this.#migrate(0);
    this.#exists = true;
  }

  /** The whole storage is being deleted. The next write creates the tables again. */
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

/** Versions of the schemas of an object, by the view that holds them. */
export type SchemaVersions = ReadonlyMap<string, number>;

/** Reads the versions from the texts of the views: one query for all schemas. */
export function readVersions(sql: SqlStorage): SchemaVersions {
  const views = sql.exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'view'");
  return new Map(views.toArray().map((view) => [view.name, versionIn(view.sql)]));
}

function versionIn(view: string): number {
  const version = /AS SELECT (\d+) AS version$/.exec(view)?.[1];
  if (version === undefined) throw new Error("a view of versions has another text");
  return Number(version);
}
