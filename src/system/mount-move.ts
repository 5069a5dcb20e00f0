import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { issuerOf, type Mount, type MountMove, placesOf } from "./mount.ts";
import { mountPathProblem } from "./mount-rules.ts";

/**
 * Puts the mount at `move.from` to `move.to`. What it issues from here on is told apart from what it issued at the old place.
 *
 * @param mounts all of the installation.
 * @param issuer under which the mount issues at the old place (`issuerOf`): one that has moved on meanwhile is not meant.
 * @returns the mount to store in place of the one at `move.from`, or why it can't move.
 */
export function moveMount(mounts: readonly Mount[], issuer: string | null, move: MountMove): Result<Mount, Failure> {
  const mount = mounts.find(({ path }) => path === move.from);
  // A release before took a mount out of service first. That move was judged when it began.
  const hasBegun = mount?.move?.id === move.id && !mount.move.finished;
  const isMeant = mount !== undefined && (hasBegun || (!mount.disabled && issuerOf(mount) === issuer));
  if (!isMeant) return err(invalid(`no matching mount at "auth/${move.from}"`));
  if (mount.type === "token") return err(invalid(`cannot remount "auth/${move.from}"`));
  const problem = hasBegun ? null : mountPathProblem(move.to, mounts.flatMap(placesOf));
  if (problem) return err(invalid(problem));
  return ok({ ...mount, path: move.to, disabled: false, issuer: move.id, move });
}
