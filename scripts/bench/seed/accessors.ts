import { accessorShardName, accessorShardNumber } from "../../../src/tree/index/accessor-shard-number.ts";
import { LISTED } from "../../../src/tree/index/index-store.ts";
import type { GroveBuild } from "../servers/grove.ts";
import { inBulk, insertLike, openDatabase } from "./installation.ts";

/** Lists accessors with the path of `like`; the inventory knows nothing of them. The server must be stopped. */
export function seedAccessors(build: GroveBuild, directory: string, like: string, accessors: readonly string[]): void {
  const byShard = Map.groupBy(accessors, accessorShardNumber);
  const model = entryOf(build, directory, like);
  for (const [number, listed] of byShard) {
    const database = openDatabase(build, directory, "AccessorShard", accessorShardName(number));
    const changes = listed.toSorted().map((accessor) => ({ accessor }));
    inBulk(database, () => insertLike(database, "accessors", model, changes));
  }
}

function entryOf(build: GroveBuild, directory: string, accessor: string) {
  const name = accessorShardName(accessorShardNumber(accessor));
  const database = openDatabase(build, directory, "AccessorShard", name);
  const row = database.prepare(`SELECT accessor, path FROM ${LISTED} WHERE accessor = ?`).get(accessor);
  database.close();
  if (!row) throw new Error("an accessor that the API gave is not listed");
  return row;
}
