import { columnOf } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/**
 * A filter over the custom token ids that exist. A custom id has no tag that proves it genuine, so without the filter
 * every made-up token would wake a directory object.
 *
 * It is a scalable Bloom filter: when its last layer is full, another one is added, twice as large, up to a limit. A
 * layer consists of blocks. An id sets bits in one block of one layer, so that a change is small. An id takes 2 bytes:
 * 1,000,000 ids take 2 MB, with less than 1 % of false positives (a test measures it). Ids are never removed: a stale
 * bit costs one look-up. A block is null until an id sets a bit in it.
 */
export type CustomIdFilter = readonly (readonly (Uint8Array | null)[])[];

/** The position of a block. */
export interface BlockPlace {
  readonly layer: number;
  readonly block: number;
}

/** An update of a copy of the filter: the current bits of some blocks. */
export interface FilterChange {
  /** True when `blocks` are all blocks of the filter. */
  readonly isWhole: boolean;
  readonly blocks: readonly (BlockPlace & { readonly bits: Uint8Array })[];
}

export const BLOCK_BYTES = 16_384;
/** Capacity of a block in ids, at 16 bits each. */
const BLOCK_IDS = 8_192;
/** Number of blocks of the largest layer. */
const MAX_BLOCKS = 64;
/** Maximum number of layers: 255 blocks, 4 MB, 2,088,960 ids. Further ids raise the last layer's false positives. */
export const MAX_LAYERS = 9;

const PROBES = 7;

/** Number of blocks of a layer: 1, 2, 4 and so on, up to `MAX_BLOCKS`. */
export function blocksOf(layer: number): number {
  return Math.min(2 ** layer, MAX_BLOCKS);
}

/** The layer that takes the next id. @param ids number of ids in each layer. */
export function layerForNext(ids: readonly number[]): number {
  const last = Math.max(ids.length - 1, 0);
  const isFull = (ids[last] ?? 0) >= blocksOf(last) * BLOCK_IDS;
  return isFull ? Math.min(last + 1, MAX_LAYERS - 1) : last;
}

/** The block of a layer for the id with this keyed hash. */
export function blockFor(layer: number, filterKey: Uint8Array): number {
  return viewOf(filterKey).getUint32(PROBES * 4) % blocksOf(layer);
}

/** Adds the id with this keyed hash to its block. */
export function addTo(block: Uint8Array, filterKey: Uint8Array): void {
  for (const bit of bitsOf(filterKey)) block[bit >> 3] = (block[bit >> 3] ?? 0) | (1 << (bit & 7));
}

/** Returns the filter after a change. `before` is not modified, as requests in flight use it. */
export function changedFilter(before: CustomIdFilter, { isWhole, blocks }: FilterChange): CustomIdFilter {
  const layers = isWhole ? [] : before.map((layer) => [...layer]);
  for (const { layer, block, bits } of blocks) {
    while (layers.length <= layer) layers.push(new Array<Uint8Array | null>(blocksOf(layers.length)).fill(null));
    const own = layers[layer];
    if (own) own[block] = bits;
  }
  return layers;
}

/** False when no custom id with this keyed hash exists; true when one may. */
export function mayContain(filter: CustomIdFilter, filterKey: Uint8Array): boolean {
  return filter.some((blocks, layer) => {
    const block = blocks[blockFor(layer, filterKey)];
    return block ? isIn(block, filterKey) : false;
  });
}

/** True when a block may contain the id with this keyed hash. */
function isIn(block: Uint8Array, filterKey: Uint8Array): boolean {
  return bitsOf(filterKey).every((bit) => ((block[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0);
}

function bitsOf(filterKey: Uint8Array): number[] {
  const view = viewOf(filterKey);
  return Array.from({ length: PROBES }, (_, probe) => view.getUint32(probe * 4) % (BLOCK_BYTES * 8));
}

function viewOf(filterKey: Uint8Array): DataView {
  return new DataView(filterKey.buffer, filterKey.byteOffset, filterKey.byteLength);
}

/** Reads and writes the filter of custom token ids. */
export class CustomIdStore extends SystemStore {
  readonly #journal = new FilterJournal();

  /** The blocks that bring a copy of the version `known` up to date. `known` is null for a reader without a copy. */
  changeSince(known: number | null): FilterChange {
    const places = known === null ? null : this.#journal.since(known);
    if (places === null) {
      const query = "SELECT layer, block, bits FROM custom_id_blocks";
      const rows = this.sql.exec<{ layer: number; block: number; bits: ArrayBuffer }>(query).toArray();
      return { isWhole: true, blocks: rows.map((row) => ({ ...row, bits: new Uint8Array(row.bits) })) };
    }
    const blocks = places.flatMap(({ layer, block }) => {
      const bits = this.#block(layer, block);
      return bits ? [{ layer, block, bits }] : [];
    });
    return { isWhole: false, blocks };
  }

  /** Adds the id with this keyed hash, unless the filter already matches it. */
  add(filterKey: Uint8Array): void {
    const ids = columnOf<number>(this.sql, "SELECT ids FROM custom_id_layers ORDER BY layer");
    const known = ids.some((_, layer) => {
      const block = this.#block(layer, blockFor(layer, filterKey));
      return block !== null && isIn(block, filterKey);
    });
    if (known) return;
    const layer = layerForNext(ids);
    const number = blockFor(layer, filterKey);
    const block = this.#block(layer, number) ?? new Uint8Array(BLOCK_BYTES);
    addTo(block, filterKey);
    const put = "INSERT OR REPLACE INTO custom_id_blocks (layer, block, bits) VALUES (?, ?, ?)";
    this.sql.exec(put, layer, number, block);
    const count =
      "INSERT INTO custom_id_layers (layer, ids) VALUES (?, 1) ON CONFLICT (layer) DO UPDATE SET ids = ids + 1";
    this.sql.exec(count, layer);
    this.#journal.note({ layer, block: number }, this.changed("customIds"));
  }

  #block(layer: number, block: number): Uint8Array | null {
    const query = "SELECT bits FROM custom_id_blocks WHERE layer = ? AND block = ?";
    const [bits] = columnOf<ArrayBuffer>(this.sql, query, layer, block);
    return bits ? new Uint8Array(bits) : null;
  }
}

/** Maximum number of remembered changes: those of one minute at 100 new custom ids per second. */
const MAX_CHANGES = 6000;

/**
 * Records the block of the filter of custom ids that each change touched, so that a copy with an earlier version gets
 * only those blocks. It is in memory: after a restart of the object an outdated copy is replaced as a whole, once.
 * Versions are random, so a version that is found here identifies one state, also after a restore.
 */
export class FilterJournal {
  readonly #changes: (BlockPlace & { readonly from: number })[] = [];

  /** Records that a block was changed. `from`: version of the filter before the change. */
  note(place: BlockPlace, from: number): void {
    this.#changes.push({ ...place, from });
    if (this.#changes.length > MAX_CHANGES) this.#changes.splice(0, MAX_CHANGES / 2);
  }

  /** The blocks that have changed since `version`; null when the journal does not know that version. */
  since(version: number): BlockPlace[] | null {
    const first = this.#changes.findLastIndex(({ from }) => from === version);
    if (first < 0) return null;
    const places = this.#changes
      .slice(first)
      .map(({ layer, block }) => [`${layer}.${block}`, { layer, block }] as const);
    return [...new Map(places).values()];
  }
}
