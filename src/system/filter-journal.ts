import type { BlockPlace } from "./custom-id-filter.ts";

/** Changes that are remembered: those of a minute, when 100 ids are chosen in a second. */
const MAX_CHANGES = 6000;

/**
 * Records which block of the filter of custom ids each change was made in, so that a copy with an earlier version gets only those
 * blocks. It is in memory: after a restart of the object an outdated copy is replaced as a whole, once. Versions are random, so
 * a version that is found here means exactly one state, also after a restore.
 */
export class FilterJournal {
  readonly #changes: (BlockPlace & { readonly from: number })[] = [];

  /** A block was changed. `from`: the version of the filter before. */
  note(place: BlockPlace, from: number): void {
    this.#changes.push({ ...place, from });
    if (this.#changes.length > MAX_CHANGES) this.#changes.splice(0, MAX_CHANGES / 2);
  }

  /** The blocks that have changed since a version; null when that is not known. */
  since(version: number): BlockPlace[] | null {
    const first = this.#changes.findLastIndex(({ from }) => from === version);
    if (first < 0) return null;
    const places = this.#changes
      .slice(first)
      .map(({ layer, block }) => [`${layer}.${block}`, { layer, block }] as const);
    return [...new Map(places).values()];
  }
}
