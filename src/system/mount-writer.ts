import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { issuerOf, type Mount } from "./mount.ts";
import { beginMove, endMove } from "./mount-move.ts";
import { type MountChange, newMountProblem, tuneMount } from "./mount-rules.ts";
import type { SystemStores } from "./system-stores.ts";
import type { WatermarkWriter } from "./watermark-writer.ts";
import { pathScope } from "./watermarks.ts";

/** Enables, tunes, disables and moves auth mounts, and what hangs on their paths: quotas, and the end of what they issued. */
export class MountWriter {
  readonly #stores: SystemStores;
  readonly #watermarks: WatermarkWriter;

  constructor(stores: SystemStores, watermarks: WatermarkWriter) {
    this.#stores = stores;
    this.#watermarks = watermarks;
  }

  /** Adds a mount, unless its path is taken. */
  enable(mount: Mount): Result<null, Failure> {
    const problem = newMountProblem(mount.path, this.#stores.mounts.all());
    if (problem) return err(invalid(problem));
    this.#put(mount);
    return ok(null);
  }

  /** Changes the settings of the mount at `path`. */
  tune(path: string, change: MountChange): Result<null, Failure> {
    const mount = this.#stores.mounts.at(path);
    if (!mount || mount.disabled) return err(noMountAt(path));
    const tuned = tuneMount(mount, change);
    if (!tuned.ok) return err(invalid(tuned.error));
    this.#put(tuned.value);
    return ok(null);
  }

  /** Notes a newer state of what a method keeps, see `System.announceMethodState`. */
  noteMethodState(uuid: string, state: number): void {
    const mount = this.#stores.mounts.all().find((one) => one.uuid === uuid);
    if (mount && state > (mount.methodState ?? 0)) this.#put({ ...mount, methodState: state });
  }

  /** Removes a mount and ends all that it issued, see `System.disableMount`. */
  disable(path: string, uuid: string, now: number): Result<number, Failure> {
    const { mounts, quotas, versions, watermarks } = this.#stores;
    const done = watermarks.numberOf(uuid);
    if (done !== null) return ok(done);
    const mount = mounts.at(path);
    if (mount?.uuid !== uuid || (mount.move && !mount.move.finished)) return err(noMountAt(path));
    const added = this.#watermarks.add({ id: uuid, scope: pathScope(`auth/${path}`), createdBefore: null }, now);
    if (!added.ok) return added;
    quotas.deleteOfMount(`auth/${path}`);
    mounts.delete(path);
    versions.change("quotas", "mounts");
    return added;
  }

  /** Takes the mount at `from` out of service, see `System.beginMove`. */
  beginMove(id: string, from: string, to: string): Result<string | null, Failure> {
    const known = this.#stores.mounts.ofMove(id);
    if (known?.move?.finished) return ok(null);
    if (known) return ok(issuerOf(known));
    const moving = beginMove(this.#stores.mounts.all(), from, { id, from, to, finished: false });
    if (!moving.ok) return moving;
    this.#put(moving.value);
    return ok(issuerOf(moving.value));
  }

  /** Puts a mount, of which nothing is left at the old place, into service at the new one. Safe to repeat. */
  endMove(id: string): void {
    const { mounts, quotas, versions } = this.#stores;
    const mount = mounts.ofMove(id);
    if (!mount?.move || mount.move.finished) return;
    quotas.moveMount(`auth/${mount.path}`, `auth/${mount.move.to}`);
    mounts.delete(mount.path);
    versions.change("quotas");
    this.#put(endMove(mount, mount.move));
  }

  #put(mount: Mount): void {
    const { installation, mounts, versions } = this.#stores;
    mounts.put(mount);
    installation.noteTtl(mounts.longestTtl());
    versions.change("mounts");
  }
}

function noMountAt(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}
