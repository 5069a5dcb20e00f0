import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { verifyDatabases } from "../../scripts/backup/files/verify.ts";
import { databasesOf } from "../seed/objects.ts";

/** Queries that count the rows that refer to a missing token, by table. A tree may lack a table it has not used yet. */
const ORPHANS = {
  leases:
    "SELECT count(*) AS n FROM leases l WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = l.token)",
  cubbyhole: "SELECT count(*) AS n FROM cubbyhole c WHERE NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = c.row)",
  tokens: `SELECT count(*) AS n FROM tokens c
           WHERE parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = c.parent)`,
} as const;

/** Checks the databases of a stopped server. Returns a message for each damaged one and for orphaned rows. */
export function findDamage(data: string): string[] {
  const broken = [...verifyDatabases(join(data, "objects")).damage];
  for (const file of databasesOf(data, "TokenTree")) {
    const database = new DatabaseSync(file);
    const has = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
    for (const [table, query] of Object.entries(ORPHANS)) {
      const count = has.get(table) ? Number(database.prepare(query).get()?.n) : 0;
      if (count > 0) broken.push(`${count} rows of the table ${table} in one tree refer to a missing token`);
    }
    database.close();
  }
  return broken;
}
