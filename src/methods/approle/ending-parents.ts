import { MAX_RUN_MS } from "../../backup/export.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import type { Env } from "../../env.ts";
import type { StoredRow } from "../../storage/object-pages.ts";
import { columnOf, type Sql, setColumns, storedJson, upsert } from "../../storage/tables.ts";
import { mustLoadInstallation } from "../../system/installation.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import { readAccessor } from "../../token/ids.ts";
import { actInTree } from "../../token/tree-calls.ts";

/** Trees that one step asks or changes: a request of the platform may call a thousand objects. */
export const STEP_TREES = 100;
/** How long a row stays after the revocation: a backup that began before may read the shard until then. */
const KEPT_MS = MAX_RUN_MS;

/** Names the parent token of a secret-id by one of its columns; with the value "" that of the role itself. */
export interface ParentName {
  readonly role: string;
  readonly by: "accessor" | "hash";
  readonly value: string;
}

/** A parent token (`parent` is its accessor). `accessor` and `hash` of its secret-id are "" for that of a role. */
interface Parent {
  readonly parent: string;
  readonly role: string;
  readonly accessor: string;
  readonly hash: string;
}

/** The table, and the conditions on its rows. */
const TABLE = "ending_parents";
const WAITS = "revoked_at IS NULL";
const IS_OLD = "revoked_at IS NOT NULL AND revoked_at <= ?";
/** Rows that one step of tidy deletes. */
const STEP_ROWS = 500;

/**
 * The parent tokens of a shard that are to be revoked, each with the request that asked for it. They are stored in the
 * transaction of a destruction, so that the alarm revokes those that the request does not.
 *
 * A backup reads the trees before the shards. So it can have the tokens of a secret-id that was destroyed in between, and
 * nothing else would end them after a restore. Therefore a row stays for as long as a backup can take, and a restore
 * makes it wait again.
 */
export class EndingParents {
  readonly #env: Env;
  readonly #sql: Sql;

  constructor(env: Env, sql: Sql) {
    this.#env = env;
    this.#sql = sql;
  }

  add({ parent, role, accessor, hash }: Parent, asked: RevocationOrigin): void {
    const row = { parent, role, accessor, hash, asked: JSON.stringify(asked), revoked_at: null };
    upsert(this.#sql, TABLE, ["parent"], row);
  }

  /** Records a parent token that has ended by itself and is replaced: in a restored backup it may be alive. */
  noteEnded({ parent, role, accessor, hash }: Parent): void {
    const row = { parent, role, accessor, hash, asked: JSON.stringify(NO_ORIGIN), revoked_at: currentTime() };
    upsert(this.#sql, TABLE, ["parent"], row);
  }

  /** True while parent tokens wait for their revocation: any, or those of `name`. */
  has(name?: ParentName): boolean {
    const where = name ? `WHERE ${WAITS} AND role = ? AND ${name.by} = ?` : `WHERE ${WAITS}`;
    const values = name ? [name.role, name.value] : [];
    return columnOf(this.#sql, `SELECT 1 FROM ${TABLE} ${where} LIMIT 1`, ...values).length > 0;
  }

  /** When the next row of a revoked token may be deleted; null: there is none. */
  nextRemoval(): Ms | null {
    const query = `SELECT MIN(revoked_at) FROM ${TABLE} WHERE revoked_at IS NOT NULL`;
    const [first = null] = columnOf<number | null>(this.#sql, query);
    return first === null ? null : first + KEPT_MS;
  }

  /** Deletes at most `STEP_ROWS` rows that no backup needs any more. */
  removeOld(now: Ms): void {
    const which = `SELECT parent FROM ${TABLE} WHERE ${IS_OLD} LIMIT ?`;
    this.#sql.exec(`DELETE FROM ${TABLE} WHERE parent IN (${which})`, now - KEPT_MS, STEP_ROWS);
  }

  /**
   * Revokes at most `STEP_TREES` waiting parent tokens. A failure does not stop the others.
   *
   * @param first the tokens to revoke first.
   * @throws at the end when a tree failed.
   */
  async revoke(first: ParentName = { role: "", by: "accessor", value: "" }): Promise<void> {
    const order = `role = ? AND ${first.by} = ? DESC, random()`;
    const query = `SELECT parent, asked FROM ${TABLE} WHERE ${WAITS} ORDER BY ${order} LIMIT ?`;
    const values = [first.role, first.value, STEP_TREES];
    const rows = this.#sql.exec<{ parent: string; asked: string }>(query, ...values).toArray();
    const revoked = await Promise.allSettled(
      rows.map(async ({ parent, asked }) => {
        await revokeParent(this.#env, parent, storedJson(asked));
        setColumns(this.#sql, TABLE, { revoked_at: currentTime() }, "parent = ?", parent);
      }),
    );
    const failed = revoked.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }
}

/** The row of a backup, as a restore writes it: the tree in the backup can be older than the revocation. */
export function waitsAgain(table: string, row: StoredRow): StoredRow {
  return table === TABLE ? { ...row, revoked_at: null } : row;
}

/** Revokes a parent token with everything below it. @throws when the tree did not do it. */
export async function revokeParent(env: Env, parent: string, asked: RevocationOrigin): Promise<void> {
  const { keys } = await mustLoadInstallation(env);
  // The table is not sealed, but an accessor has a tag that only this installation can make.
  const at = await readAccessor(keys, parent);
  if (!at) return;
  const target = { by: "accessor", row: at.row, tail: at.tail } as const;
  const revoked = await actInTree(env, at.treeId, { kind: "revoke", target, asked });
  if (!revoked.ok && revoked.error.code !== "not_found") throw new Error(`not revoked: ${revoked.error.code}`);
}
