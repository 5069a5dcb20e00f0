import { columnOf, RANDOM_REVISION } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/**
 * The beginnings (32 bits) of the keyed hashes of the custom token ids that exist, in ascending order. A custom id has
 * no tag that proves it genuine, so without the list every made-up token would call a directory object. null: too many
 * ids exist, and every id is looked up in the directory. Ids are never removed: a stale one costs one look-up.
 */
export type CustomIdList = Uint32Array | null;

/** Maximum number of ids in the list. Every change sends the whole list, 16 KiB at most, to every isolate. */
export const MAX_LISTED_IDS = 4096;

/** What isolates get of the custom ids. `list` is absent from a System object of release 1.0.0-rc.1. */
interface CustomIdPart {
  /** For isolates of 1.0.0-rc.1: a filter that matches every id. It goes with the tables of the filter. */
  readonly isWhole: boolean;
  readonly blocks: readonly { readonly layer: number; readonly block: number; readonly bits: Uint8Array }[];
  readonly list?: CustomIdList;
}

const MATCHES_ALL = [{ layer: 0, block: 0, bits: new Uint8Array(16_384).fill(0xff) }];

/** False when no custom id with this keyed hash exists; true when one may. */
export function mayContain(list: CustomIdList, hash: Uint8Array): boolean {
  if (list === null) return true;
  const beginning = beginningOf(hash);
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) < beginning) low = middle + 1;
    else high = middle;
  }
  return list[low] === beginning;
}

function beginningOf(hash: Uint8Array): number {
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
}

/**
 * Release 1.0.0-rc.1 reads and writes a Bloom filter in two tables. This step makes that filter match every id, so that
 * a rollback to that release finds ids that are added meanwhile. `custom_id_layers` then has a row only if that release
 * has added an id, before this step or after a rollback. The ids of that filter can't be listed, so the list counts as
 * full. The next minor version drops both tables, and fills the list where `custom_id_layers` has a row.
 */
export const CUSTOM_ID_LIST_SQL = `
  CREATE TABLE custom_id_hashes (hash INTEGER PRIMARY KEY);
  INSERT OR REPLACE INTO custom_id_blocks (layer, block, bits)
    VALUES (0, 0, unhex(replace(hex(zeroblob(16384)), '00', 'FF')));
  UPDATE part_versions SET version = ${RANDOM_REVISION} WHERE part = 'customIds';
`;

/** Reads and writes the list of custom token ids. */
export class CustomIdStore extends SystemStore {
  part(): CustomIdPart {
    return { isWhole: true, blocks: MATCHES_ALL, list: this.#list() };
  }

  /** Adds the id with this keyed hash, unless the list matches it already. */
  add(hash: Uint8Array): void {
    if (mayContain(this.#list(), hash)) return;
    this.sql.exec("INSERT INTO custom_id_hashes (hash) VALUES (?)", beginningOf(hash));
    this.changed("customIds");
  }

  #list(): CustomIdList {
    const hasFilter = columnOf(this.sql, "SELECT 1 FROM custom_id_layers LIMIT 1").length > 0;
    const query = "SELECT hash FROM custom_id_hashes ORDER BY hash LIMIT ?";
    const hashes = columnOf<number>(this.sql, query, MAX_LISTED_IDS + 1);
    return hasFilter || hashes.length > MAX_LISTED_IDS ? null : Uint32Array.from(hashes);
  }
}
