import { existsSync, readFileSync, statSync } from "node:fs";
import { spanText } from "../../src/api/sys/health/finding.ts";
import { COPY_NOTE } from "../backup/files/copy-note.ts";
import type { DataDirectory } from "./data-directory.ts";

const FILE = "last-served";
/** A file that is written once; a copy of it has another inode number. */
const ORIGINAL = "installation-id";

const NOTE_EVERY_MS = 60_000;
/** A clock that goes back by less was corrected (ms). */
const CORRECTED_MS = 60_000;
/** A server that was down for less was restarted, not restored (ms). */
const LONG_MS = 3_600_000;

/** When a server last used the data, and in which directory. */
interface LastServed {
  /** RFC 3339. */
  readonly at: string;
  readonly inode: number;
}

/** Data that may be a restored backup. */
export interface OldData {
  /** True for a copy, false for data that were not in use for a while. */
  readonly isCopy: boolean;
  /** When they were last served, or copied (RFC 3339). */
  readonly at: string;
}

/**
 * Whether the data may be a restored backup; undefined without a sign of it. A restore brings back tokens that were revoked after the
 * backup, which the data alone can't show. `now` in ms.
 */
export function oldData(data: DataDirectory, now: number): OldData | undefined {
  const last = read(data);
  if (last === undefined) return undefined;
  const copied = last.inode !== inodeOf(data);
  if (!copied && now - Date.parse(last.at) < LONG_MS) return undefined;
  return { isCopy: copied, at: [last.at, copiedAt(data) ?? ""].sort().at(-1) ?? last.at };
}

/** The warning for the operator about old data. */
export function restoreWarning({ isCopy, at }: OldData): string {
  const what = isCopy ? "these data are a copy" : "these data were not in use for a while";
  return `${what}: last served at ${at}. If that is a backup, what was revoked since is good again (docs/operations.md, Restore)`;
}

/**
 * Notes every minute that the data are in use, and says when the clock has gone back since the last note: tokens that had
 * expired are accepted again. Returns a function that ends it.
 */
export function noteServing(data: DataDirectory, say: (warning: string) => void): () => void {
  const note = (): void => {
    const now = Date.now();
    const before = read(data)?.at;
    if (before !== undefined && Date.parse(before) - now > CORRECTED_MS) say(clockWarning(before, now));
    const last: LastServed = { at: new Date(now).toISOString(), inode: inodeOf(data) };
    try {
      data.write(FILE, `${JSON.stringify(last)}\n`);
    } catch {
      // The error answers of requests report a full disk.
    }
  };
  note();
  const timer = setInterval(note, NOTE_EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    note();
  };
}

function clockWarning(before: string, now: number): string {
  const behind = spanText(Date.parse(before) - now);
  return `the clock is ${behind} behind ${before}, when these data were last served. Unless it was ahead then, set it right: tokens that have expired are accepted again (docs/runbook.md, A clock is wrong)`;
}

function read(data: DataDirectory): LastServed | undefined {
  try {
    return JSON.parse(readFileSync(data.file(FILE), "utf8"));
  } catch {
    // Missing before the first start, incomplete after a full disk.
    return undefined;
  }
}

/** When a backup copied these data (RFC 3339), up to a minute after the last note. Undefined for data that are not a backup. */
function copiedAt(data: DataDirectory): string | undefined {
  try {
    const { at }: { at?: unknown } = JSON.parse(readFileSync(data.file(COPY_NOTE), "utf8"));
    return typeof at === "string" ? at : undefined;
  } catch {
    return undefined;
  }
}

function inodeOf(data: DataDirectory): number {
  return existsSync(data.file(ORIGINAL)) ? statSync(data.file(ORIGINAL)).ino : 0;
}
