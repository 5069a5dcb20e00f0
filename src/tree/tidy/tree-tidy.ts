import { currentTime, type Ms } from "../../base/clock.ts";
import { termOfSealed } from "../../crypto/sealed-data.ts";
import { HELD } from "../../lease/store.ts";
import { accessorShard, accessorShardNumber } from "../../listing/accessor-shards.ts";
import { fixedPart, fixedText, type ListedClaim, SAFETY_AGE_MS } from "../../listing/inventory/entry.ts";
import { type Sql, storedJson } from "../../storage/tables.ts";
import type { AgedTerm } from "../../system/aged-terms.ts";
import { decodeStoredId, firstRowAt, routedIdText, rowGeneratedAt } from "../../token/ids.ts";
import type { TokenRecord } from "../../token/record.ts";
import { CUSTOM_ID_KEY } from "../token-rows.ts";
import type { TreeParts } from "../tree-parts.ts";
import { NO_REPAIRS, type TidyStep, type TidyStepResult, type TreePosition, type TreeRepairs } from "./tidy-step.ts";

/** Rows that one step reads: it takes a few ms, and requests to the tree wait no longer than that. */
export const TIDY_ROWS = 200;

/** Makes orphans of the tokens in a range of rows whose parent has no row. */
const ORPHAN_CHILDREN_OF_MISSING_PARENTS = `UPDATE tokens SET parent = NULL
  WHERE row > ? AND row <= ? AND parent IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM tokens p WHERE p.row = tokens.parent)
  RETURNING row`;
const DROP_ENTRIES = `DELETE FROM cubbyhole WHERE (row, path) IN (
    SELECT c.row, c.path FROM json_each(?1) n JOIN cubbyhole c ON c.row = n.value LIMIT ?2
  ) RETURNING row`;

/** The tables in the order in which a run checks them. The last two are read only if key terms are to be deleted. */
const TABLES: readonly TreePosition["table"][] = ["tokens", "cubbyhole", "leases", "values", "lease data"];

/** The result of a step on one table. `next`: where the next step continues in the table; null at its end. */
interface TableStep {
  readonly repairs?: Partial<TreeRepairs>;
  readonly terms?: readonly number[];
  readonly next: Omit<TreePosition, "table"> | null;
}

/** The part of a tidy run that works on the rows of one tree. */
export class TreeTidy {
  readonly #tree: TreeParts;
  /**
   * The progress of the last run in the rows of this tree, with the key terms that they need. Several shards may list
   * the tree in one run, and a caller repeats its step after a crash: rows are checked once, but every caller gets all
   * terms. In memory only: after a restart of the object, a caller continues from its own cursor. `of`: the run and its
   * aged terms, as JSON.
   */
  #progress: { of: string; next: TreePosition | null; terms: ReadonlySet<number> } | null = null;

  constructor(tree: TreeParts) {
    this.#tree = tree;
  }

  async perform(step: TidyStep): Promise<TidyStepResult> {
    const { sql, treeId, tokens } = this.#tree;
    const compared = compareLists(sql, treeId, step);
    // The tree was never created, or its storage is lost.
    if (!tokens.isCreated) return { ...compared, repairs: NO_REPAIRS, terms: [], next: null };
    const found = { ...compared, revived: this.#revived(step.accessors) };
    const of = JSON.stringify([step.run, step.aged]);
    const known = this.#progress?.of === of ? this.#progress : null;
    if (known?.next === null) return { ...found, repairs: NO_REPAIRS, terms: [...known.terms], next: null };
    // The first step searches the whole table of tokens at once, by its primary key.
    const before = known?.terms ?? (step.from === null ? termsOfTokens(sql, step.aged) : []);
    const from = known?.next ?? step.from ?? { table: "tokens", after: 0 };
    const { repairs, terms = [], next: inTable } = await this.#batch(step, from);
    const next = inTable ? { table: from.table, ...inTable } : tableAfter(from, step);
    const all = new Set([...before, ...terms]);
    this.#progress = { of, next, terms: all };
    return { ...found, repairs: { ...NO_REPAIRS, ...repairs }, terms: [...all], next };
  }

  /** The accessors of live tokens that have ended by the record of their shard. */
  #revived(claims: readonly ListedClaim[]): string[] {
    const ended = claims.flatMap(({ accessor, hasEnded }) => (hasEnded ? [accessor] : []));
    const rows = ended.flatMap((accessor) => decodeStoredId(accessor)?.row ?? []);
    const alive = this.#tree.inventory.describe(rows);
    return alive.flatMap(({ accessor }) => (ended.includes(accessor) ? [accessor] : []));
  }

  async #batch(step: TidyStep, from: TreePosition): Promise<TableStep> {
    const { cubbyhole, leases } = this.#tree;
    switch (from.table) {
      case "tokens":
        return this.#tokens(from.after, step);
      case "cubbyhole": {
        const { done, next } = forMissingOwners(
          cubbyhole.tables,
          "cubbyhole",
          from.after,
          (owners) => cubbyhole.tables.exec(DROP_ENTRIES, JSON.stringify(owners), TIDY_ROWS).toArray().length,
        );
        return { repairs: { cubbyholeEntries: done }, next };
      }
      case "leases": {
        const { done, next } = forMissingOwners(leases.store.tables, "leases", from.after, (owners) =>
          leases.store.endOfTokens(owners, currentTime(), TIDY_ROWS),
        );
        return { repairs: { leasesEnded: done }, next };
      }
      case "values":
        return termsOfValues(cubbyhole.tables, from);
      case "lease data":
        return termsOfLeaseData(leases.store.tables, from);
    }
  }

  async #tokens(after: number, { accessors }: TidyStep): Promise<TableStep> {
    const { env, sql, treeId } = this.#tree;
    const limit = env.deployment.pace.tidyTokens;
    const query = "SELECT row, accessor FROM tokens WHERE row > ? ORDER BY row LIMIT ?";
    const tokens = sql.exec<StoredAccessor>(query, after, limit).toArray();
    const last = tokens.at(-1);
    if (!last) return { next: null };
    const orphaned = sql.exec(ORPHAN_CHILDREN_OF_MISSING_PARENTS, after, last.row).toArray().length;
    const seals = this.#tree.tokens.checkSeals(after + 1, last.row);
    const ended = this.#tree.tokens.revokeEnded(after + 1, last.row);
    const now = currentTime();
    // A "wrong" entry may be in another shard than the token's.
    const listed = new Set(accessors.flatMap(({ accessor, entry }) => (entry === "wrong" ? [] : [accessor])));
    const unsure = tokens
      .filter(({ row }) => rowGeneratedAt(row) < now - SAFETY_AGE_MS)
      .map((token) => ({ row: token.row, accessor: accessorOf(treeId, token) }))
      .filter(({ accessor }) => !listed.has(accessor));
    const relisted = await this.#relist(unsure);
    const next = tokens.length < limit ? null : { after: last.row };
    return { repairs: { orphaned, relisted, revoked: ended, ...seals }, next };
  }

  /** Lists the tokens that are alive and not on their list. Returns their number. */
  async #relist(unsure: readonly { readonly row: number; readonly accessor: string }[]): Promise<number> {
    const { env, tokens, inventory } = this.#tree;
    const alive = inventory.describe(unsure.map(({ row }) => row));
    const added = await env.deployment.pace.askApart([...byShard(alive)], ([shard, of]) =>
      accessorShard(env, shard).relist(of),
    );
    const relisted = added.reduce((sum, count) => sum + count, 0);
    if (relisted > 0) inventory.sizeIsWanted();
    // The sweep has deleted these meanwhile, and `relist` may have put them on the list again after their removal.
    const gone = unsure.filter(({ row }) => !tokens.exists(row));
    await Promise.all(
      [...byShard(gone)].map(([shard, of]) => accessorShard(env, shard).remove(of.map(({ accessor }) => accessor))),
    );
    return relisted;
  }
}

/** The beginning of the table that a run checks after that of `from`; null when that is the last one. */
function tableAfter({ table }: TreePosition, { aged }: TidyStep): TreePosition | null {
  const next = TABLES[TABLES.indexOf(table) + 1];
  return next === undefined || (next === "values" && aged.length === 0) ? null : { table: next, after: 0 };
}

function byShard<T extends { readonly accessor: string }>(tokens: readonly T[]): Map<number, T[]> {
  return Map.groupBy(tokens, ({ accessor }) => accessorShardNumber(accessor));
}

type StoredAccessor = { row: number; accessor: ArrayBuffer };

/** The columns of a token that its entries in the lists are compared with. */
type ComparedRow = StoredAccessor & { custom_id_key: string | null; expires_at: Ms | null; record: string };

/**
 * Compares the lists with the rows of the tree: entries without a row, and entries that differ from their row. A row
 * that is dead counts as existing: the sweep removes its entries.
 */
function compareLists(sql: Sql, treeId: string, step: Pick<TidyStep, "accessors" | "customIds">) {
  const rowsOfAccessors = step.accessors.map(({ accessor }) => decodeStoredId(accessor)?.row ?? null);
  const claimed = [...rowsOfAccessors, ...step.customIds.map(({ row }) => row)];
  const query = `SELECT row, accessor, ${CUSTOM_ID_KEY} AS custom_id_key, expires_at, record
    FROM tokens WHERE row IN (SELECT value FROM json_each(?))`;
  const stored = sql.exec<ComparedRow>(query, JSON.stringify(claimed.filter((row) => row !== null))).toArray();
  const tokens = new Map(stored.map((token) => [accessorOf(treeId, token), token]));
  const keys = new Map(stored.map((token) => [token.row, token.custom_id_key]));
  const that = (is: (entry: Entry, token: ComparedRow) => boolean) =>
    step.accessors.flatMap(({ accessor, entry }) => {
      const token = tokens.get(accessor);
      return token && typeof entry === "object" && is(entry, token) ? [accessor] : [];
    });
  return {
    goneAccessors: step.accessors.map(({ accessor }) => accessor).filter((accessor) => !tokens.has(accessor)),
    goneCustomIds: step.customIds.filter(({ key, row }) => keys.get(row) !== key),
    staleEntries: that(({ expiresAt }, token) => expiresAt !== token.expires_at),
    wrongEntries: that(({ fixed }, { record }) => fixed !== fixedText(fixedPart(storedJson<TokenRecord>(record)))),
  };
}

type Entry = Exclude<ListedClaim["entry"], string>;

/** Tables of things that tokens own: the column with the row of the token, and the condition of rows to check. */
const OWNED = {
  cubbyhole: { owner: "row", where: "TRUE" },
  leases: { owner: "token", where: `state = ${HELD}` },
} as const;

/**
 * Checks the next TIDY_ROWS owners after the row number `after` in a table of things that tokens own, and passes those
 * without a token to `act`. Seeks from owner to owner in the index, without a read of the rows in between. Returns how
 * many things were removed, and after which owner the next step continues; null at the end of the table.
 *
 * @param act removes at most TIDY_ROWS things of these owners and returns how many. If it is TIDY_ROWS, there may be
 *   more, and the next step checks the same owners again.
 */
function forMissingOwners(
  sql: Sql,
  table: keyof typeof OWNED,
  after: number,
  act: (owners: readonly number[]) => number,
) {
  const { owner, where } = OWNED[table];
  const owners = sql
    .exec<{ row: number; known: number }>(
      `WITH RECURSIVE owners (row) AS (
         SELECT MIN(${owner}) FROM ${table} WHERE ${where} AND ${owner} > ?1
         UNION ALL
         SELECT (SELECT MIN(x.${owner}) FROM ${table} x WHERE ${where} AND x.${owner} > owners.row)
         FROM owners WHERE owners.row IS NOT NULL
         LIMIT ?2
       )
       SELECT row, EXISTS (SELECT 1 FROM tokens t WHERE t.row = owners.row) AS known FROM owners WHERE row IS NOT NULL`,
      after,
      TIDY_ROWS,
    )
    .toArray();
  const gone = owners.filter(({ known }) => known === 0).map(({ row }) => row);
  const done = gone.length > 0 ? act(gone) : 0;
  if (done === TIDY_ROWS) return { done, next: { after } };
  const last = owners.length === TIDY_ROWS ? owners.at(-1) : undefined;
  return { done, next: last ? { after: last.row } : null };
}

function accessorOf(treeId: string, { row, accessor }: StoredAccessor): string {
  return routedIdText(treeId, row, new Uint8Array(accessor));
}

/** The terms of `aged` in which a token was made: its text is hashed under that term. By the primary key. */
function termsOfTokens(sql: Sql, aged: readonly AgedTerm[]): number[] {
  const query = "SELECT 1 FROM tokens WHERE row >= ? AND row < ? LIMIT 1";
  const made = aged.filter(
    ({ from, until }) => sql.exec(query, firstRowAt(from), firstRowAt(until + 1)).toArray().length > 0,
  );
  return made.map(({ version }) => version);
}

/** The terms of the next values in the cubbyhole after `from`, and where the next step continues; null at the end. */
function termsOfValues(sql: Sql, from: TreePosition) {
  const query = `SELECT row, path, substr(value, 1, 2) AS head FROM cubbyhole
    WHERE (row, path) > (?, ?) ORDER BY row, path LIMIT ${TIDY_ROWS}`;
  type Found = { row: number; path: string; head: ArrayBuffer };
  const rows = sql.exec<Found>(query, from.after, from.path ?? "").toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row, path: last.path } : null };
}

/** The terms of the data of the next leases after `from`, and where the next step continues; null at the end. */
function termsOfLeaseData(sql: Sql, from: TreePosition) {
  const query = `SELECT row, substr(data, 1, 2) AS head FROM leases WHERE row > ? ORDER BY row LIMIT ${TIDY_ROWS}`;
  const rows = sql.exec<{ row: number; head: ArrayBuffer | null }>(query, from.after).toArray();
  const last = rows.length === TIDY_ROWS ? rows.at(-1) : undefined;
  return { terms: termsOf(rows), next: last ? { after: last.row } : null };
}

/** The terms of texts that `sealText` has sealed, from their first two bytes. */
function termsOf(rows: readonly { readonly head: ArrayBuffer | null }[]): number[] {
  return [...new Set(rows.flatMap(({ head }) => (head ? [termOfSealed(new Uint8Array(head))] : [])))];
}
