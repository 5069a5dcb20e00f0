import { columnOf } from "../storage/tables.ts";
import {
  addTo,
  BLOCK_BYTES,
  type BlockPlace,
  blockFor,
  type FilterChange,
  isIn,
  layerForNext,
} from "./custom-id-filter.ts";
import { SystemStore } from "./part-versions.ts";

export const CUSTOM_ID_TABLES = `
  CREATE TABLE custom_id_layers (layer INTEGER PRIMARY KEY, ids INTEGER NOT NULL);
  CREATE TABLE custom_id_blocks (layer INTEGER NOT NULL, block INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (layer, block));
`;

interface BlockRow extends Record<string, SqlStorageValue> {
  layer: number;
  block: number;
  bits: ArrayBuffer;
}

/** Reads and writes the filter of custom token ids. */
export class CustomIdStore extends SystemStore {
  readonly #journal = new FilterJournal();

  /** The blocks that bring a copy of the version `known` up to date. `known` is null for a reader without a copy. */
  changeSince(known: number | null): FilterChange {
    const places = known === null ? null : this.#journal.since(known);
    if (places === null) {
      const rows = this.sql.exec<BlockRow>("SELECT layer, block, bits FROM custom_id_blocks").toArray();
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
