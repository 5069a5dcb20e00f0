import { spanText } from "../../../src/api/sys/health/finding.ts";
import type { Ms } from "../../../src/base/clock.ts";
import { backupAt, isOfAnotherCluster, newestBackup } from "../../backup/newest.ts";
import { judgeSealKeys, sealKeysOf } from "../../backup/seal-keys.ts";
import { attention, type Check, failing, fine } from "./check.ts";

/** Age of the newest backup (ms) from which it is late, and from which the check fails, where one is made each day. */
const LATE_MS: Ms = 26 * 3_600_000;
const FAILING_MS: Ms = 3 * 24 * 3_600_000;

const LINK = "docs/runbook.md#backups-are-missing";
const KEY_LINK = "docs/runbook.md#seal-key-lost-or-wrong";

/**
 * Judges the backups of either kind in a directory of this machine, which the server does not see. The newest is verified
 * as by `backup --verify`, or the one copy that the directory is.
 *
 * @param clusterId of the server; null when it is not known.
 * @param environment may have the seal keys, which are tried then.
 */
export async function checkCopies(
  directory: string,
  clusterId: string | null,
  environment: NodeJS.ProcessEnv,
  now: Ms,
): Promise<Check> {
  const [name, title] = ["copies", "Copies"];
  const newest = backupAt(directory) ?? newestBackup(directory);
  if (!newest)
    return failing(
      name,
      title,
      `there is no backup in ${directory}`,
      "Make one, and find out why none was made.",
      LINK,
    );
  const { name: backup, at, problem, manifest } = newest;
  if (problem !== null)
    return failing(name, title, `${backup} can't be restored: ${problem}`, "Make one now, and look at the disk.", LINK);
  if (isOfAnotherCluster(manifest, clusterId))
    return failing(name, title, `${backup} is of another installation`, "Name the directory of this one.", LINK);
  const keys = sealKeysOf(environment);
  if (!keys.ok) return failing(name, title, keys.error, "Set the key of the server, or none.", KEY_LINK);
  const opened = await judgeSealKeys(newest, keys.value);
  if (opened.kind === "missing")
    return failing(name, title, `${backup} ${opened.why}`, "Find that key, or make a backup now.", KEY_LINK);
  const seen = `${backup} is whole, begun ${spanText(now - at)} ago`;
  if (now - at <= LATE_MS) return fine(name, title, seen);
  const judged = now - at > FAILING_MS ? failing : attention;
  return judged(name, title, seen, "One a day is usual: find out why none was made.", LINK);
}
