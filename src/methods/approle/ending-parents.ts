import { actInTree } from "../../auth/tree-calls.ts";
import type { Env } from "../../env.ts";
import { columnOf, type Sql, storedJson, upsert } from "../../storage/tables.ts";
import { mustLoadInstallation } from "../../system/installation.ts";
import type { RevocationOrigin } from "../../system/revocation-origin.ts";
import { readAccessor } from "../../token/ids.ts";

/** Trees that one step asks or changes: a request of the platform may call a thousand objects. */
export const STEP_TREES = 100;

/** A secret-id of a role, or the role itself: its column with "" as the value. */
export interface ParentName {
  readonly role: string;
  readonly by: "accessor" | "hash";
  readonly value: string;
}

/** A parent token: its accessor, and those of its secret-id, which are "" for the parent token of a role. */
interface Parent {
  readonly parent: string;
  readonly role: string;
  readonly accessor: string;
  readonly hash: string;
}

/**
 * The parent tokens of a shard that are to be revoked, each with the request that asked for it. They are stored in the
 * transaction of a destruction, so that the alarm revokes those that the request does not.
 */
export class EndingParents {
  readonly #env: Env;
  readonly #sql: Sql;

  constructor(env: Env, sql: Sql) {
    this.#env = env;
    this.#sql = sql;
  }

  add({ parent, role, accessor, hash }: Parent, asked: RevocationOrigin): void {
    const row = { parent, role, accessor, hash, asked: JSON.stringify(asked) };
    upsert(this.#sql, "ending_parents", ["parent"], row);
  }

  /** True while there are any: of any secret-id or role, or of this one. */
  has(name?: ParentName): boolean {
    const where = name ? `WHERE role = ? AND ${name.by} = ?` : "";
    const values = name ? [name.role, name.value] : [];
    return columnOf(this.#sql, `SELECT 1 FROM ending_parents ${where} LIMIT 1`, ...values).length > 0;
  }

  /**
   * Revokes as many as one step does. Those that fail do not hold up the others. @throws when a tree did not do it.
   *
   * @param first is revoked before any other; absent: none is.
   */
  async revoke(first: ParentName = { role: "", by: "accessor", value: "" }): Promise<void> {
    const query = `SELECT parent, asked FROM ending_parents ORDER BY role = ? AND ${first.by} = ? DESC, random() LIMIT ?`;
    const values = [first.role, first.value, STEP_TREES];
    const rows = this.#sql.exec<{ parent: string; asked: string }>(query, ...values).toArray();
    const revoked = await Promise.allSettled(
      rows.map(async ({ parent, asked }) => {
        await revokeParent(this.#env, parent, storedJson(asked));
        this.#sql.exec("DELETE FROM ending_parents WHERE parent = ?", parent);
      }),
    );
    const failed = revoked.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }
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
