import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/tables.ts";
import type { InstallationStore } from "./installation-store.ts";
import { type Mount, SYSTEM_TTL_SECONDS } from "./mount.ts";
import type { PartVersionStore } from "./part-versions.ts";

/** The table of auth mounts. */
export const MOUNT_TABLE = `
  CREATE TABLE mounts (path TEXT PRIMARY KEY, mount TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
`;

interface MountRow extends Record<string, SqlStorageValue> {
  path: string;
  mount: string;
}

const SHAPE: TableShape = { table: "mounts", kind: "mount", key: ["path"], sealed: ["mount"] };

/** Reads and writes auth mounts. One that was tampered with counts as absent. */
export class MountStore {
  readonly #sealed: SealedTable<MountRow>;
  readonly #installation: InstallationStore;
  readonly #versions: PartVersionStore;

  constructor(sql: SqlStorage, seals: RowSeals, installation: InstallationStore, versions: PartVersionStore) {
    this.#installation = installation;
    this.#versions = versions;
    this.#sealed = new SealedTable(sql, seals, SHAPE);
  }

  /** All mounts, by path. */
  all(): Mount[] {
    return this.#sealed.list("ORDER BY path").map(({ mount }) => storedJson<Mount>(mount));
  }

  /** The mount at `path`, or null. */
  at(path: string): Mount | null {
    return this.all().find((mount) => mount.path === path) ?? null;
  }

  /** The mount whose last move has the id `id`, or null. */
  ofMove(id: string): Mount | null {
    return this.all().find(({ move }) => move?.id === id) ?? null;
  }

  /** Maximum TTL, in seconds, of all batch tokens ever issued. It bounds their expiry, as they are not stored. */
  longestTtl(): number {
    return Math.max(this.#installation.longestTtl, this.#longestNow());
  }

  /** Writes a mount at its path, and replaces the one that is there. */
  put(mount: Mount): void {
    this.#sealed.put({ path: mount.path, mount: JSON.stringify(mount) });
    this.#installation.noteTtl(this.#longestNow());
    this.#versions.change("mounts");
  }

  /** Deletes the mount at `path`. Safe to repeat. */
  delete(path: string): void {
    this.#sealed.delete(path);
    this.#versions.change("mounts");
  }

  #longestNow(): number {
    return Math.max(SYSTEM_TTL_SECONDS, ...this.all().map(({ config }) => config.maxLeaseTtl));
  }
}
