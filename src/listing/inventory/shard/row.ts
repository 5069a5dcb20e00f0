import { storedJson } from "../../../storage/stored-json.ts";
import type { InventoryEntry, ListedToken } from "../entry.ts";

/** A token in the table of a shard. */
export type TokenRowOfShard = { id: number; accessor: string; entry: string };

/** What a row says. */
export function tokenOf({ id, accessor, entry }: TokenRowOfShard): ListedToken {
  return { ...storedJson<Omit<InventoryEntry, "accessor">>(entry), accessor, id };
}
