import type { Ms } from "../../../../base/clock.ts";
import type { StorageFaults } from "../../../../base/storage-faults.ts";
import { attention, type Finding, failing, good, named, spanText, unknown } from "../finding.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** @param silent names of the objects that do not answer. Trees are not asked: no tree is needed by every request. */
export function judgeObjects(silent: readonly string[], disk: StorageFaults): Finding {
  if (silent.length === 0) return judgeAnswering(disk);
  const seen = `no answer from ${named(silent)}`;
  const { advice, link } = remedyOf(disk, "Wait a minute and check again; then look for their errors in the log.");
  return failing(seen, advice, link);
}

function judgeAnswering(disk: StorageFaults): Finding {
  const seen = "those that every request may need answer; no tree of tokens was asked";
  const remedy = remedyOfDisk(disk);
  if (remedy === null) return good(seen);
  const others = disk.isFull ? "others, and each that has to write, may not" : "one whose database is damaged does not";
  return attention(`${seen}, and ${others}`, remedy.advice, remedy.link);
}

const OVERLOADED = "docs/runbook.md#an-object-is-overloaded";

type Remedy = Pick<Finding, "advice" | "link">;

/** What to do where objects do not answer: against a fault of the disk, if one is known, else `advice`. */
export function remedyOf(disk: StorageFaults, advice: string): Remedy {
  return remedyOfDisk(disk) ?? { advice, link: OVERLOADED };
}

/** What to do against the fault of the disk; null: none is known. */
function remedyOfDisk(disk: StorageFaults): Remedy | null {
  if (disk.isFull)
    return {
      advice: "The disk is full: make space. A restart is not needed.",
      link: "docs/runbook.md#the-disk-is-full",
    };
  if (disk.damaged.length === 0) return null;
  return {
    advice: "A database is damaged: stop the server and bring a backup of the whole directory back.",
    link: "docs/runbook.md#a-database-is-damaged",
  };
}

/** Judges what the server has seen of its disk since its start. */
export function judgeDisk(disk: StorageFaults, now: Ms): Finding {
  const damaged = disk.damaged.length > 0 ? `damaged below objects/: ${named(disk.damaged)}` : "";
  const full = disk.isFull ? "the disk is full: writes fail" : "";
  const remedy = remedyOfDisk(disk);
  if (remedy !== null)
    return failing([full, damaged].filter((part) => part !== "").join("; "), remedy.advice, remedy.link);
  if (disk.fullAt !== null && now - disk.fullAt < DAY_MS) {
    const seen = `it was full ${spanText(now - disk.fullAt)} ago`;
    return attention(seen, "See what fills it, and make more space.", "docs/runbook.md#the-disk-is-full");
  }
  return good("no write has failed, and no database was found damaged");
}

/** The finding of a check whose facts could not be read. */
export function unreadFinding(disk: StorageFaults): Finding {
  const { advice, link } = remedyOf(disk, "Check again in a minute; the log has the error.");
  return unknown("it could not be read: an object did not answer", advice, link);
}
