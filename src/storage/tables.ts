/** One step of a schema. Steps are applied in order, each once. A released step is never edited: add a new one. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly version: number;
  readonly description: string;
  /** One or more statements without parameters. */
  readonly sql: string;
  /**
   * The oldest version whose code works with the storage after this step, for steps that only add (docs/upgrading.md). Default: this
   * version, so that older code refuses the storage.
   */
  readonly readableFrom?: number;
}

/**
 * The tables of one object. The first write creates them, and migrations bring them up to date when the object wakes. An
 * object that is only read gets no tables. An object can have several schemas: each table and each index that is not created
 * saves the first write a page of the file. The first version of a schema is known by its first table or index: most objects are trees
 * of one token, and a view that says "1" would be two of the rows that each of them writes. Later versions are in a view.
 */
export class Schema {
  readonly #sql: SqlStorage;
  readonly #migrations: readonly Migration[];
  /** The view that holds the version, from the second on. */
  readonly #view: string;
  #exists: boolean;

  /**
   * @param name of these tables among those of the object.
   * @param versions as `readVersions` gives them: an object with several schemas reads them once.
   * @throws when the storage has a version that this release does not know and that does not say that it may work with it. Working on
   *   it could corrupt it.
   */
  constructor(sql: SqlStorage, migrations: readonly Migration[], name = "schema", versions = readVersions(sql)) {
    this.#sql = sql;
    this.#migrations = migrations;
    this.#view = `${name}_version`;
    const { version, readableFrom } = versions.get(this.#view) ?? versions.get(firstOf(migrations)) ?? NONE;
    const newest = migrations.at(-1)?.version ?? 0;
    if (readableFrom > newest) {
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
   * object and its tables become durable together. A later version is a view, as a table would cost a page for one number.
   */
  #migrate(from: number): void {
    const missing = this.#migrations.filter((migration) => migration.version > from);
    const last = missing.at(-1);
    if (!last) return;
    for (const migration of missing) this.#sql.exec(migration.sql);
    if (last.version === FIRST.version) return;
    this.#sql.exec(`DROP VIEW IF EXISTS ${this.#view}`);
    const { version, readableFrom } = storedVersion(this.#migrations, last.version);
    const readable = readableFrom === version ? "" : `, ${readableFrom} AS readable_from`;
    this.#sql.exec(`CREATE VIEW ${this.#view} AS SELECT ${version} AS version${readable}`);
  }
}

/** What the storage says of itself. */
interface StoredVersion {
  readonly version: number;
  /** The oldest version whose code works with it. */
  readonly readableFrom: number;
}

const NONE: StoredVersion = { version: 0, readableFrom: 0 };
const FIRST: StoredVersion = { version: 1, readableFrom: 1 };

/** Versions by the names of what an object has: that of a view is in it, and what else there is has the first one at least. */
export type SchemaVersions = ReadonlyMap<string, StoredVersion>;

/** The name of what a schema creates first. */
function firstOf(migrations: readonly Migration[]): string {
  const [, name] = /^\s*CREATE (?:TABLE|INDEX) (\w+)/.exec(migrations[0]?.sql ?? "") ?? [];
  if (name === undefined) throw new Error("the first version of a schema begins with a table or an index");
  return name;
}

/** Code of a version works with the storage when each later step says so. */
function storedVersion(migrations: readonly Migration[], version: number): StoredVersion {
  const canRead = (code: number) =>
    migrations.every((step) => step.version <= code || (step.readableFrom ?? step.version) <= code);
  const reader = migrations.find((step) => canRead(step.version));
  return { version, readableFrom: reader?.version ?? version };
}

/** Reads what an object has: one query for all schemas. */
export function readVersions(sql: SqlStorage): SchemaVersions {
  const things = sql.exec<{ name: string; view: string | null }>(
    "SELECT name, CASE type WHEN 'view' THEN sql END AS view FROM sqlite_master",
  );
  return new Map(things.toArray().map(({ name, view }) => [name, view === null ? FIRST : versionIn(view)]));
}

function versionIn(view: string): StoredVersion {
  const [, version, readableFrom = version] =
    /AS SELECT (\d+) AS version(?:, (\d+) AS readable_from)?$/.exec(view) ?? [];
  if (version === undefined) throw new Error("a view of versions has another text");
  return { version: Number(version), readableFrom: Number(readableFrom) };
}

/** What a statement came to. */
export interface Cursor<Row> extends Iterable<Row> {
  toArray(): Row[];
  /** @throws unless there is exactly one row. */
  one(): Row;
  readonly rowsWritten: number;
}

/** Runs statements: the database of an object, or its tables. */
export interface Sql {
  exec<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly (SqlStorageValue | Uint8Array)[]
  ): Cursor<Row>;
}

/** The values of the one column that a query selects. */
export function columnOf<T extends SqlStorageValue>(
  sql: Sql,
  query: string,
  ...values: readonly (SqlStorageValue | Uint8Array)[]
): T[] {
  const rows = sql.exec<Record<string, T>>(query, ...values).toArray();
  return rows.flatMap((row) => Object.values(row));
}

/**
 * Reads a value that this installation wrote as JSON. The one place where stored text gets a type without a check: a row that decides
 * about access has a seal, and readers of rows without one compare them with their tree.
 */
export function storedJson<T>(text: string): T {
  return JSON.parse(text);
}

/**
 * SQL: a random number of 52 bits, exact as a number of JavaScript. It names a state of rows that others keep a copy of. A
 * counter would not do: an object that is restored to an earlier state and then changed counts to the same numbers again,
 * and a reader that knows such a number would take the new state for the one that it knows.
 */
export const RANDOM_REVISION = "(random() & 4503599627370495)";

const INSERT = /^\s*INSERT\b/;

const NOTHING: Cursor<never> = {
  toArray: () => [],
  one: () => {
    throw new Error("there are no tables yet");
  },
  rowsWritten: 0,
  *[Symbol.iterator]() {},
};

/**
 * The tables of an object. The first INSERT makes them, in one transaction with its row. Until then a query finds nothing
 * and other changes change nothing: an object that is merely asked gets no tables.
 */
export class Tables implements Sql {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;

  /** @param name see `Schema`, as for `versions`. */
  constructor(sql: SqlStorage, migrations: readonly Migration[], name?: string, versions?: SchemaVersions) {
    this.#sql = sql;
    this.#schema = new Schema(sql, migrations, name, versions);
  }

  /** False until something is written. */
  get exist(): boolean {
    return this.#schema.exists;
  }

  /** Makes the tables. For a transaction that could be rolled back: an INSERT in it would make them for that long only. */
  create(): void {
    this.#schema.create();
  }

  /** Runs one statement. */
  exec<Row extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: readonly (SqlStorageValue | Uint8Array)[]
  ): Cursor<Row> {
    if (!this.#schema.exists && !INSERT.test(query)) return NOTHING;
    this.#schema.create();
    return this.#sql.exec<Row>(query, ...values);
  }

  /** The whole storage is being deleted: what is written later begins again. */
  forget(): void {
    this.#schema.forget();
  }
}
