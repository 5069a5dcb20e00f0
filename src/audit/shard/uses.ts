import { columnOf, type Sql } from "../../storage/tables.ts";
import { mentionOf, type UseCount } from "../entry.ts";

/** A network address of uses, sealed. */
export interface SealedAddress {
  readonly key: number;
  readonly sealed: Uint8Array;
}

type KeyOf = (mention: string) => number;

/** The addresses of `uses` that are not stored yet, by their keys. */
export function addressesOf(sql: Sql, uses: readonly UseCount[], keyOf: KeyOf): ReadonlyMap<number, string> {
  if (uses.length === 0) return new Map();
  const all = new Map(uses.map(({ address }) => [keyOf(mentionOf("address", address)), address]));
  const query = "SELECT key FROM addresses WHERE key IN (SELECT value FROM json_each(?))";
  const known = new Set(columnOf<number>(sql, query, JSON.stringify([...all.keys()])));
  return new Map([...all].filter(([key]) => !known.has(key)));
}

export function writeAddresses(sql: Sql, addresses: readonly SealedAddress[]): void {
  for (const { key, sealed } of addresses) {
    sql.exec("INSERT OR IGNORE INTO addresses (key, sealed) VALUES (?, ?)", key, sealed);
  }
}

/** Adds the counts to those of earlier batches. */
export function writeUses(sql: Sql, uses: readonly UseCount[], keyOf: KeyOf): void {
  if (uses.length === 0) return;
  const rows = uses.map(({ accessor, address, hour, count, first, last }) => {
    const keys = [keyOf(mentionOf("accessor", accessor)), hour, keyOf(mentionOf("address", address))];
    return [...keys, count, first, last];
  });
  sql.exec(
    `INSERT INTO uses (token, hour, address, count, first, last)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?) WHERE true
     ON CONFLICT (token, hour, address) DO UPDATE SET count = count + excluded.count,
       first = min(first, excluded.first), last = max(last, excluded.last)`,
    JSON.stringify(rows),
  );
}
