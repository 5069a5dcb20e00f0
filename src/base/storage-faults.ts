import type { Ms } from "./clock.ts";

/** What a self-hosted server has found wrong with its disk. The runtime tells objects and the Worker only that a call failed. */
export interface StorageFaults {
  /** Damaged databases, as `CLASS/FILE`: the name of the directory would have the secret id of the installation. */
  readonly damaged: readonly string[];
  /** When a write last failed because the disk was full; null: not since the start. */
  readonly fullAt: Ms | null;
}

let known: StorageFaults = { damaged: [], fullAt: null };

/** The faults since the start of this process. A database stays damaged until the server starts on a restored one. */
export function storageFaults(): StorageFaults {
  return known;
}

/** Notes what `npm run serve` reports. */
export function noteStorageFaults({ damaged, fullAt }: StorageFaults): void {
  known = { damaged: [...new Set([...known.damaged, ...damaged])].sort(), fullAt: fullAt ?? known.fullAt };
}
