import { columnOf, type Migration, Tables } from "../storage/tables.ts";
import { SystemStore } from "./part-versions.ts";

/** The schema of the declared start. Its versions are independent of those of the installation's schema. */
export const SETUP_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the declared start of an installation that is not complete",
    sql: "CREATE TABLE setups (one INTEGER PRIMARY KEY CHECK (one = 1), nonce TEXT NOT NULL);",
  },
];

/**
 * The declared start of an installation: while there is a row, only the setup token of its nonce is served. The nonce is
 * no secret: only the keys of the installation make a token of it.
 */
export class SetupStore extends SystemStore {
  readonly #tables = new Tables(this.storage, SETUP_MIGRATIONS, "setups");

  /** The nonce of the setup token; null: the start is complete, or none was declared. */
  get nonce(): string | null {
    return columnOf<string>(this.#tables, "SELECT nonce FROM setups")[0] ?? null;
  }

  begin(nonce: string): void {
    this.#tables.exec("INSERT INTO setups (one, nonce) VALUES (1, ?)", nonce);
  }

  /** Replaces the nonce `from` (null: any); `to` null ends the start. False when no declared start has that nonce. */
  change(from: string | null, to: string | null): boolean {
    const { nonce } = this;
    if (nonce === null || (from !== null && from !== nonce)) return false;
    if (to === null) this.#tables.exec("DELETE FROM setups");
    else this.#tables.exec("UPDATE setups SET nonce = ?", to);
    this.changed("keys");
    return true;
  }
}
