import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { type Mount, type MountMove, placesOf } from "./mount.ts";
import { mountPathProblem } from "./mount-rules.ts";

/**
 * Takes a mount out of service for its move to `move.to`: what it issued has to be revoked first, since tokens are found
 * by the path that made them. Both places are taken meanwhile.
 *
 * @param mounts all of the installation.
 * @returns the mount to store, or why it can't move.
 */
export function beginMove(mounts: readonly Mount[], from: string, move: MountMove): Result<Mount, Failure> {
  const mount = mounts.find(({ path }) => path === from);
  if (!mount || mount.disabled) return err(invalid(`no matching mount at "auth/${from}"`));
  if (mount.type === "token") return err(invalid(`cannot remount "auth/${from}"`));
  const problem = mountPathProblem(move.to, mounts.flatMap(placesOf));
  return problem ? err(invalid(problem)) : ok({ ...mount, disabled: true, move });
}

/** A mount at its new place. What it issues from here on is told apart from what it issued at the old one. */
export function endMove(mount: Mount, move: MountMove): Mount {
  return { ...mount, path: move.to, disabled: false, issuer: move.id, move: { ...move, finished: true } };
}
