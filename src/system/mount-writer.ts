import { err, type Failure, invalid, ok, type Result, refuse } from "../base/result.ts";
import type { EndRequest } from "./end-request.ts";
import type { Mount } from "./mount.ts";
import { type MountChange, moveMount, newMountProblem, tuneMount } from "./mount-rules.ts";
import type { SystemStores } from "./system-stores.ts";
import { pathScope } from "./watermarks.ts";

/** A request to move a mount to another path. */
export interface MoveRequest {
  readonly id: string;
  /** Issuer id of the mount at `from`. A mount with another id, which took its place meanwhile, is not moved. */
  readonly issuer: string;
  readonly from: string;
  readonly to: string;
  /** The caller and the request, which are stored with the watermark. */
  readonly asked: EndRequest;
}

/** Enables, tunes, disables and moves auth mounts, with the quotas of their paths and the end of their tokens. */
export class MountWriter {
  readonly #stores: SystemStores;

  constructor(stores: SystemStores) {
    this.#stores = stores;
  }

  /** Adds a mount, unless its path is in use or invalid. */
  enable(mount: Mount): Result<null> {
    const problem = newMountProblem(mount.path, this.#stores.mounts.all());
    if (problem) return refuse(problem);
    this.#stores.mounts.put(mount);
    return ok(null);
  }

  /** Changes the settings of the mount at `path`. */
  tune(path: string, change: MountChange): Result<null> {
    const mount = this.#stores.mounts.at(path);
    if (!mount) return err(noMountAt(path));
    const tuned = tuneMount(mount, change);
    if (!tuned.ok) return refuse(tuned.error);
    this.#stores.mounts.put(tuned.value);
    return ok(null);
  }

  /** Records the number of a newer state of a method's data, see `System.announceMethodState`. */
  noteMethodState(uuid: string, state: number): void {
    const { mounts } = this.#stores;
    const mount = mounts.all().find((one) => one.uuid === uuid);
    if (mount && state > (mount.methodState ?? 0)) mounts.put({ ...mount, methodState: state });
  }

  /** Removes a mount and ends all tokens that it issued, see `System.disableMount`. */
  disable(path: string, uuid: string, asked: EndRequest, now: number): Result<number> {
    const { mounts, quotas, watermarks } = this.#stores;
    const done = watermarks.numberOf(uuid);
    if (done !== null) return ok(done);
    const mount = mounts.at(path);
    if (mount?.uuid !== uuid) return err(noMountAt(path));
    const added = watermarks.add({ id: uuid, scope: pathScope(`auth/${path}`), createdBefore: null, asked }, now);
    if (!added.ok) return added;
    quotas.deleteOfMount(`auth/${path}`);
    mounts.delete(path);
    return added;
  }

  /** Moves a mount and ends all tokens that it issued at the old path, see `System.moveMount`. */
  move({ id, issuer, from, to, asked }: MoveRequest, now: number): Result<number> {
    const { mounts, quotas, watermarks } = this.#stores;
    const done = watermarks.numberOf(id);
    if (done !== null) return ok(done);
    const moved = moveMount(mounts.all(), issuer, { id, from, to });
    if (!moved.ok) return moved;
    const added = watermarks.add({ id, scope: pathScope(`auth/${from}`), createdBefore: null, asked }, now);
    if (!added.ok) return added;
    quotas.moveMount(`auth/${from}`, `auth/${to}`);
    mounts.delete(from);
    mounts.put(moved.value);
    return added;
  }
}

function noMountAt(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}
