import type { RowSeals } from "../storage/row-seals.ts";
import type { Mount } from "./mount.ts";

const KIND = "mount";

interface MountRow extends Record<string, SqlStorageValue> {
  path: string;
  mount: string;
  seal: ArrayBuffer | null;
}

/** The table of auth mounts. One that was tampered with counts as absent. */
export class MountStore {
  readonly #sql: SqlStorage;
  readonly #seals: RowSeals;

  constructor(sql: SqlStorage, seals: RowSeals) {
    this.#sql = sql;
    this.#seals = seals;
  }

  /** All mounts, by path. */
  all(): Mount[] {
    return this.#rows()
      .filter((row) =>
        this.#seals.admit(KIND, row.path, [row.mount], row.seal, (seal) => this.#writeSeal(row.path, seal)),
      )
      .map(({ mount }) => JSON.parse(mount) as Mount);
  }

  /** Writes a mount at its path, in the place of whatever is there. */
  put(mount: Mount): void {
    const json = JSON.stringify(mount);
    const seal = this.#seals.make(KIND, mount.path, [json]);
    this.#sql.exec("INSERT OR REPLACE INTO mounts (path, mount, seal) VALUES (?, ?, ?)", mount.path, json, seal);
  }

  delete(path: string): void {
    this.#sql.exec("DELETE FROM mounts WHERE path = ?", path);
  }

  /** Seals all mounts, when the installation gets its keys. */
  sealAll(): void {
    for (const { path, mount } of this.#rows()) this.#writeSeal(path, this.#seals.make(KIND, path, [mount]));
  }

  #rows(): MountRow[] {
    return this.#sql.exec<MountRow>("SELECT path, mount, seal FROM mounts ORDER BY path").toArray();
  }

  #writeSeal(path: string, seal: Uint8Array | null): void {
    this.#sql.exec("UPDATE mounts SET seal = ? WHERE path = ?", seal, path);
  }
}
