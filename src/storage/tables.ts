/** One step of a schema. Steps are applied in order, each once. A released step is never edited: add a new one. */
export interface Migration {
  /** Counts up from 1 without gaps. */
  readonly version: number;
  readonly description: string;
  /** One or more statements without parameters. */
  readonly sql: string;
  /**
   * The oldest version whose code can use the storage after this step; for steps that only add (docs/upgrading.md). By
   * default this version: older code refuses the storage.
   */
  readonly readableFrom?: number;
}

interface Cursor<Row> extends Iterable<Row> {
  toArray(): Row[];
  /** @throws unless there is exactly one row. */
  one(): Row;
  readonly rowsWritten: number;
}

/** A value for a parameter of a statement. */
type SqlInput = SqlStorageValue | Uint8Array;

/** Runs statements: the database of an object, or `Tables`. */
export interface Sql {
  exec<Row extends Record<string, SqlStorageValue>>(query: string, ...values: readonly SqlInput[]): Cursor<Row>;
}

/**
 * The tables of one schema of an object. The first INSERT creates them, in one transaction with its row. Until then a
 * query finds nothing and other statements change nothing, so an object that is only read gets no tables. Migrations
 * update the tables when the object wakes.
 *
 * An object can have several schemas: each table and index that is not created saves the first write a page of the
 * file. The first version of a schema is recognised by its first table or index. Later versions are stored as a view.
 * Most objects are trees of one token, and a view for version 1 would add two rows to the first write of each.
 */
export class Tables implements Sql {
  readonly #sql: SqlStorage;
  readonly #migrations: readonly Migration[];
  /** Name of the view with the version. */
  readonly #view: string;
  #exist: boolean;

  /**
   * @param name name of the schema among those of the object.
   * @param versions result of `readVersions`: an object with several schemas reads them once.
   * @throws when the version of the storage is unknown to this release and does not allow older code: using the
   *   storage could corrupt it.
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
    this.#exist = version > 0;
    if (this.#exist) this.#migrate(version);
  }

  /** False until the first write. */
  get exist(): boolean {
    return this.#exist;
  }

  /** Creates the tables unless they exist. Called before a transaction with INSERTs that may be rolled back. */
  create(): void {
    if (!this.#exist) this.#migrate(0);
    this.#exist = true;
  }

  exec<Row extends Record<string, SqlStorageValue>>(query: string, ...values: readonly SqlInput[]): Cursor<Row> {
    if (!this.#exist && !INSERT.test(query)) return NOTHING;
    this.create();
    return this.#sql.exec<Row>(query, ...values);
  }

  /** Notes that the storage of the object is deleted. The next INSERT creates the tables again. */
  forget(): void {
    this.#exist = false;
  }

  /**
   * Applies the steps after version `from`. Synchronous, so it is one transaction with the writes that follow: the
   * tables of a new object and its first row become durable together. The version is a view, as a table would cost a
   * page for one number.
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

const INSERT = /^\s*INSERT\b/;

const NOTHING: Cursor<never> = {
  toArray: () => [],
  one: () => {
    throw new Error("there are no tables yet");
  },
  rowsWritten: 0,
  *[Symbol.iterator]() {},
};

/** The version of a schema in the storage of an object. */
interface StoredVersion {
  readonly version: number;
  /** The oldest version whose code can use the storage. */
  readonly readableFrom: number;
}

const NONE: StoredVersion = { version: 0, readableFrom: 0 };
const FIRST: StoredVersion = { version: 1, readableFrom: 1 };

/** Versions by the names of an object's tables, indexes and views. A view has its version, the others imply 1. */
export type SchemaVersions = ReadonlyMap<string, StoredVersion>;

/** Name of the table or index that the first step creates first. */
function firstOf(migrations: readonly Migration[]): string {
  const [, name] = /^\s*CREATE (?:TABLE|INDEX) (\w+)/.exec(migrations[0]?.sql ?? "") ?? [];
  if (name === undefined) throw new Error("the first version of a schema begins with a table or an index");
  return name;
}

/** Code of a version can use the storage if every later step allows it. */
function storedVersion(migrations: readonly Migration[], version: number): StoredVersion {
  const canRead = (code: number) =>
    migrations.every((step) => step.version <= code || (step.readableFrom ?? step.version) <= code);
  const reader = migrations.find((step) => canRead(step.version));
  return { version, readableFrom: reader?.version ?? version };
}

/**
 * Reads the versions of all schemas of an object, in one query.
 *
 * @throws when the storage has a trigger. No release creates a trigger, and a planted trigger could undo every later
 *   revocation in the transaction that stores it.
 */
export function readVersions(sql: SqlStorage): SchemaVersions {
  const things = sql.exec<{ type: string; name: string; view: string | null }>(
    "SELECT type, name, CASE type WHEN 'view' THEN sql END AS view FROM sqlite_master",
  );
  return new Map(
    Array.from(things, ({ type, name, view }) => {
      if (type === "trigger") throw new Error("the storage has a trigger, which no release makes");
      return [name, view === null ? FIRST : versionIn(view)];
    }),
  );
}

function versionIn(view: string): StoredVersion {
  const [, version, readableFrom = version] =
    /AS SELECT (\d+) AS version(?:, (\d+) AS readable_from)?$/.exec(view) ?? [];
  if (version === undefined) throw new Error("a view of versions has another text");
  return { version: Number(version), readableFrom: Number(readableFrom) };
}

/** The values of the one column that a query selects. */
export function columnOf<T extends SqlStorageValue>(sql: Sql, query: string, ...values: readonly SqlInput[]): T[] {
  const rows = sql.exec<Record<string, T>>(query, ...values).toArray();
  return rows.flatMap((row) => Object.values(row));
}

/** Sets these columns of the rows that meet a condition. Indexes of other columns are not written. */
export function setColumns(
  sql: Sql,
  table: string,
  columns: Readonly<Record<string, SqlStorageValue>>,
  where: string,
  ...values: readonly SqlStorageValue[]
): void {
  const names = Object.keys(columns);
  if (names.length === 0) return;
  const assignments = names.map((name) => `${name} = ?`).join(", ");
  sql.exec(`UPDATE ${table} SET ${assignments} WHERE ${where}`, ...Object.values(columns), ...values);
}

/** Inserts a row, or sets its columns where there is a row with the same values in the columns of `key`. */
export function upsert(sql: Sql, table: string, key: readonly string[], row: Readonly<Record<string, SqlInput>>): void {
  const names = Object.keys(row);
  const changed = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  sql.exec(
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
     ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changed.join(", ")}`,
    ...Object.values(row),
  );
}

/**
 * Reads a value that this installation stored as JSON. Its type is not checked: rows that decide about access have a
 * seal, and readers compare other rows with the tree.
 */
export function storedJson<T>(text: string): T {
  return JSON.parse(text);
}

/**
 * SQL expression: a random number of 52 bits, exact in JavaScript. It is the version of rows that others keep copies
 * of. A counter would repeat: an object that is restored to an earlier state and changes again would give another state
 * the same number, and the owner of a copy would take it for the state that it has.
 */
export const RANDOM_REVISION = "(random() & 4503599627370495)";
