import { err, type Failure, invalid, ok, type Result, refuse } from "../base/result.ts";
import type { EndRequest } from "./end-request.ts";
import type { Mount } from "./mount.ts";
import { type MountChange, moveMount, newMountProblem, tuneMount } from "./mount-rules.ts";
import type { SystemStores } from "./system-stores.ts";
import { pathScope } from "./watermarks.ts";

/** A mount that is to go from one path to another. */
export interface MoveRequest {
  readonly id: string;
  /** Under which it issues at `from`: nothing else that is there by now is meant. */
  readonly issuer: string;
  readonly from: string;
  readonly to: string;
  /** Who asks. */
  readonly asked: EndRequest;
}

/** Enables, tunes, disables and moves auth mounts, and what hangs on their paths: quotas, and the end of what they issued. */
export class MountWriter {
  readonly #stores: SystemStores;

  constructor(stores: SystemStores) {
    this.#stores = stores;
  }

  /** Adds a mount, unless its path is taken. */
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

  /** Notes a newer state of what a method keeps, see `System.announceMethodState`. */
  noteMethodState(uuid: string, state: number): void {
    const { mounts } = this.#stores;
    const mount = mounts.all().find((one) => one.uuid === uuid);
    if (mount && state > (mount.methodState ?? 0)) mounts.put({ ...mount, methodState: state });
  }

  /** Removes a mount and ends all that it issued, see `System.disableMount`. */
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

  /** Moves a mount and ends all that it issued at the old place, see `System.moveMount`. */
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
