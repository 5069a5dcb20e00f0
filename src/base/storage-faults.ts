import type { Ms } from "./clock.ts";

/** Data on which the server has started, and that may be a restored backup. */
export interface OldData {
  /** True for a copy, false for data that were not in use for a while. */
  readonly isCopy: boolean;
  /** When they were last served. */
  readonly servedAt: Ms;
}

/** What a self-hosted server has found wrong with its disk. Objects and the Worker learn from the runtime only that a call failed. */
export interface StorageFaults {
  /** Damaged databases, as `CLASS/FILE`: the name of the directory would have the secret id of the installation. */
  readonly damaged: readonly string[];
  /** True from a failed write on until there is space. */
  readonly isFull: boolean;
  /** When the disk was last seen full; null: not since the start. */
  readonly fullAt: Ms | null;
  /** null: there is no sign that a backup was restored. */
  readonly oldData: OldData | null;
}

let known: StorageFaults = { damaged: [], isFull: false, fullAt: null, oldData: null };

/** The faults since the start of this process. */
export function storageFaults(): StorageFaults {
  return known;
}

/** Notes damaged databases. They stay damaged until the server starts on restored ones. */
export function noteDamaged(names: readonly string[]): void {
  known = { ...known, damaged: [...new Set([...known.damaged, ...names])].sort() };
}

/** Notes that the server has started on old data. */
export function noteOldData(oldData: OldData): void {
  known = { ...known, oldData };
}

/** Notes that the disk is full now, or has space again. */
export function noteDiskSpace(isFull: boolean, now: Ms): void {
  known = { ...known, isFull, fullAt: isFull || known.isFull ? now : known.fullAt };
}
