/** The inventory as it was first: a row for each term of a token, and counters that every change wrote. */
export const FIRST_INVENTORY_SQL = `
  CREATE TABLE inventory (id INTEGER PRIMARY KEY, accessor TEXT NOT NULL, ends INTEGER NOT NULL, entry TEXT NOT NULL);
  CREATE INDEX inventory_by_end ON inventory (ends, id);
  CREATE TABLE terms (term TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (term, id)) WITHOUT ROWID;
  CREATE TABLE counts (
    kind TEXT NOT NULL, mount TEXT NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, mount, key)
  ) WITHOUT ROWID;
  CREATE INDEX counts_by_size ON counts (kind, mount, n) WHERE n > 1;
  CREATE TABLE trees (tree TEXT PRIMARY KEY, mount TEXT NOT NULL, root TEXT NOT NULL, n INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX trees_by_size ON trees (mount, n);
`;

/**
 * The inventory as it is: one row for each token, which is its place on the list of accessors too. `accessors` keeps those of which
 * nothing else is known. What was in the tables of before is moved by the alarm, `filling` tells how far: `old_inventory` and
 * `trees` are empty when it is done. The columns `tree_...` are set for the oldest token of a tree of several.
 */
export const INVENTORY_SQL = `
  DROP INDEX inventory_by_end;
  ALTER TABLE inventory RENAME TO old_inventory;
  DROP TABLE terms;
  DROP TABLE counts;
  CREATE TABLE inventory (
    id INTEGER PRIMARY KEY, accessor TEXT NOT NULL, path TEXT NOT NULL, ends INTEGER NOT NULL,
    tree_mount TEXT, tree_size INTEGER, tree_class INTEGER, entry TEXT NOT NULL
  );
  CREATE INDEX inventory_by_accessor ON inventory (accessor);
  CREATE INDEX inventory_by_path ON inventory (path, accessor);
  CREATE INDEX inventory_by_end ON inventory (ends);
  CREATE INDEX inventory_by_tree_size ON inventory (tree_mount, tree_class) WHERE tree_mount IS NOT NULL;
  CREATE TABLE postings (
    term TEXT NOT NULL, first INTEGER NOT NULL, n INTEGER NOT NULL, ids TEXT NOT NULL,
    PRIMARY KEY (term, first)
  ) WITHOUT ROWID;
  CREATE TABLE counts (
    kind TEXT NOT NULL, mount TEXT NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, mount, key)
  ) WITHOUT ROWID;
  CREATE INDEX counts_by_size ON counts (kind, mount, n) WHERE n > 1;
  CREATE TABLE pending (one INTEGER PRIMARY KEY, changes TEXT NOT NULL);
  DELETE FROM filling;
  INSERT INTO filling (position) SELECT '' WHERE EXISTS (SELECT 1 FROM accessors) OR EXISTS (SELECT 1 FROM trees);
`;
