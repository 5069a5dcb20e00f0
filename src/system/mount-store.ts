import type { Ms, Seconds } from "../base/clock.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../base/result.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { storedJson } from "../storage/tables.ts";
import type { InstallationStore } from "./installation-store.ts";
import {
  type Mount,
  type MountChange,
  type MountMove,
  moveMount,
  newMountProblem,
  SYSTEM_TTL_SECONDS,
  tuneMount,
} from "./mount.ts";
import { SystemStore, type SystemTables } from "./part-versions.ts";
import type { QuotaStore } from "./quota-store.ts";
import type { RevocationOrigin } from "./revocation-origin.ts";
import { pathScope, type WatermarkStore } from "./watermarks.ts";

const SHAPE: TableShape = { table: "mounts", kind: "mount", key: ["path"], sealed: ["mount"] };

export interface MoveRequest extends MountMove {
  /** Issuer id of the mount at `from`. A mount with another id, which took its place meanwhile, is not moved. */
  readonly issuer: string;
  /** The caller and the request, which are stored with the watermark. */
  readonly asked: RevocationOrigin;
}

/** Auth mounts by path, with their quotas and the end of their tokens. A tampered mount counts as absent. */
export class MountStore extends SystemStore {
  readonly #sealed = new SealedTable<{ path: string; mount: string }>(this.sql, this.seals, SHAPE);
  readonly #installation: InstallationStore;
  readonly #quotas: QuotaStore;
  readonly #watermarks: WatermarkStore;

  constructor(tables: SystemTables, installation: InstallationStore, quotas: QuotaStore, watermarks: WatermarkStore) {
    super(tables);
    this.#installation = installation;
    this.#quotas = quotas;
    this.#watermarks = watermarks;
  }

  all(): Mount[] {
    return this.#sealed.list("ORDER BY path").map(({ mount }) => storedJson<Mount>(mount));
  }

  at(path: string): Mount | null {
    return this.all().find((mount) => mount.path === path) ?? null;
  }

  ofMove(id: string): Mount | null {
    return this.all().find(({ move }) => move?.id === id) ?? null;
  }

  /** Maximum TTL of all batch tokens ever issued. It bounds their expiry, as they are not stored. */
  longestTtl(): Seconds {
    return Math.max(this.#installation.longestTtl, this.#longestNow());
  }

  enable(mount: Mount): Result<null> {
    const problem = newMountProblem(mount.path, this.all());
    if (problem) return refuse(problem);
    this.put(mount);
    return ok(null);
  }

  tune(path: string, change: MountChange): Result<null> {
    const mount = this.at(path);
    if (!mount) return err(noMountAt(path));
    const tuned = tuneMount(mount, change);
    if (!tuned.ok) return refuse(tuned.error);
    this.put(tuned.value);
    return ok(null);
  }

  /** Records the number of a newer state of a method's data, see `System.announceMethodState`. */
  noteMethodState(uuid: string, state: number): void {
    const mount = this.all().find((one) => one.uuid === uuid);
    if (mount && state > (mount.methodState ?? 0)) this.put({ ...mount, methodState: state });
  }

  disable(path: string, uuid: string, asked: RevocationOrigin, now: Ms): Result<number> {
    const done = this.#watermarks.numberOf(uuid);
    if (done !== null) return ok(done);
    if (this.at(path)?.uuid !== uuid) return err(noMountAt(path));
    const added = this.#endTokens(uuid, path, asked, now);
    if (!added.ok) return added;
    this.#quotas.deleteOfMount(`auth/${path}`);
    this.#delete(path);
    return added;
  }

  move({ id, issuer, from, to, asked }: MoveRequest, now: Ms): Result<number> {
    const done = this.#watermarks.numberOf(id);
    if (done !== null) return ok(done);
    const moved = moveMount(this.all(), issuer, { id, from, to });
    if (!moved.ok) return moved;
    const added = this.#endTokens(id, from, asked, now);
    if (!added.ok) return added;
    this.#quotas.moveMount(`auth/${from}`, `auth/${to}`);
    this.#delete(from);
    this.put(moved.value);
    return added;
  }

  put(mount: Mount): void {
    this.#sealed.put({ path: mount.path, mount: JSON.stringify(mount) });
    this.#installation.noteTtl(this.#longestNow());
    this.changed("mounts");
  }

  #endTokens(id: string, path: string, asked: RevocationOrigin, now: Ms): Result<number> {
    return this.#watermarks.add({ id, scope: pathScope(`auth/${path}`), createdBefore: null, asked }, now);
  }

  #delete(path: string): void {
    this.#sealed.delete(path);
    this.changed("mounts");
  }

  #longestNow(): Seconds {
    return Math.max(SYSTEM_TTL_SECONDS, ...this.all().map(({ config }) => config.maxLeaseTtl));
  }
}

function noMountAt(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}
