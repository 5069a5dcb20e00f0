import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { issuerOf, type Mount, type MountMove } from "./mount.ts";
import { mountPathProblem } from "./mount-rules.ts";

/**
 * Puts the mount at `move.from` to `move.to`. What it issues from here on has another issuer id than what it issued at the old path.
 *
 * @param mounts all of the installation.
 * @param issuer under which the mount issues at the old place (`issuerOf`): one that has moved on meanwhile is not meant.
 * @returns the mount to store in place of the one at `move.from`, or why it can't move.
 */
export function moveMount(mounts: readonly Mount[], issuer: string, move: MountMove): Result<Mount, Failure> {
  const mount = mounts.find(({ path }) => path === move.from);
  if (!mount || issuerOf(mount) !== issuer) return err(invalid(`no matching mount at "auth/${move.from}"`));
  if (mount.type === "token") return err(invalid(`cannot remount "auth/${move.from}"`));
  const problem = mountPathProblem(
    move.to,
    mounts.map(({ path }) => path),
  );
  if (problem) return err(invalid(problem));
  return ok({ ...mount, path: move.to, issuer: move.id, move });
}
