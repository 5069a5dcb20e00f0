import { DatabaseSync } from "node:sqlite";
import type { GroveBuild } from "../servers/grove.ts";
import { databasesOf } from "./installation.ts";

/** What must not be in the database of a tree: things of a token that is not there. */
const ORPHANS = {
  "a lease":
    "SELECT count(*) AS n FROM leases l WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = l.token)",
  "a cubbyhole entry":
    "SELECT count(*) AS n FROM cubbyhole c WHERE NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = c.row)",
  "a child": `SELECT count(*) AS n FROM tokens c WHERE parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.row = c.parent)`,
} as const;

/** What is wrong in the databases of a stopped server: damaged files, and things without their token. */
export function findDamage(build: GroveBuild, data: string): string[] {
  const broken: string[] = [];
  for (const { className } of build.model.classes) {
    for (const file of databasesOf(build, data, className)) {
      const database = new DatabaseSync(file);
      const check = String(database.prepare("PRAGMA integrity_check").get()?.integrity_check);
      if (check !== "ok") broken.push(`a database of ${className} is damaged: ${check}`);
      if (className === "TokenTree" && isPlanted(database)) {
        for (const [what, query] of Object.entries(ORPHANS)) {
          const count = Number(database.prepare(query).get()?.n);
          if (count > 0) broken.push(`${what} has no token (${count} in one tree)`);
        }
      }
      database.close();
    }
  }
  return broken;
}

function isPlanted(database: DatabaseSync): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'tokens'").get() !== undefined;
}
