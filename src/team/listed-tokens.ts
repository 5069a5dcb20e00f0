import { nameKey } from "../base/name.ts";
import { type Page, type PageRequest, readPage } from "../storage/pages.ts";
import { type Sql, storedJson } from "../storage/tables.ts";
import type { ListedToken, TeamToken } from "./record.ts";

/** The sort keys of a list of team tokens. */
export const TOKEN_SORTS = ["team-name", "created-by", "expired-at", "last-used-at"] as const;
type TokenSort = (typeof TOKEN_SORTS)[number];

/** An order of team tokens. Tokens without the time that is the sort key come last. */
export interface TokenOrder {
  readonly sort: TokenSort;
  readonly reverse: boolean;
}

/** Reads the `sort` parameter: a sort key, with `-` before it for the reverse order. null for another text. */
export function readTokenOrder(text = ""): TokenOrder | null {
  if (text === "") return { sort: "expired-at", reverse: false };
  const reverse = text.startsWith("-");
  const sort = TOKEN_SORTS.find((name) => name === (reverse ? text.slice(1) : text));
  return sort ? { sort, reverse } : null;
}

/** Sorts after every time. */
const NO_TIME = Number.MAX_SAFE_INTEGER;

/** For each sort key its column, and the value for a token. */
const KEYS: Readonly<Record<TokenSort, { column: string; keyOf: (listed: ListedToken) => string | number }>> = {
  "team-name": { column: "name_key", keyOf: ({ team }) => nameKey(team.name) },
  "created-by": { column: "created_by_key", keyOf: ({ token }) => token.createdBy.name.toLowerCase() },
  "expired-at": { column: "expired_at_key", keyOf: ({ token }) => token.expiresAt ?? NO_TIME },
  "last-used-at": { column: "last_used_at_key", keyOf: ({ token }) => token.lastUsedAt ?? NO_TIME },
};

const COLUMNS = ["team_name", "token", ...Object.values(KEYS).map(({ column }) => column)];
const UPSERT = `INSERT INTO tokens (team_id, token_id, ${COLUMNS.join(", ")}) VALUES (?, ?${", ?".repeat(COLUMNS.length)})
  ON CONFLICT (team_id, token_id) DO UPDATE SET ${COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`;

interface TokenRow extends Record<string, SqlStorageValue> {
  team_id: string;
  token_id: string;
  team_name: string;
  token: string;
}

/** The tokens of an organization's teams, sorted. */
export class ListedTokens {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Writes a token of a team; null deletes it. */
  put(team: ListedToken["team"], tokenId: string, token: TeamToken | null): void {
    if (!token) {
      this.#sql.exec("DELETE FROM tokens WHERE team_id = ? AND token_id = ?", team.teamId, tokenId);
      return;
    }
    const keys = Object.values(KEYS).map(({ keyOf }) => keyOf({ team, token }));
    this.#sql.exec(UPSERT, team.teamId, tokenId, team.name, JSON.stringify(token), ...keys);
  }

  /** Changes the name of a team. */
  rename(team: ListedToken["team"]): void {
    const rows = this.#sql.exec<TokenRow>("SELECT * FROM tokens WHERE team_id = ?", team.teamId).toArray();
    for (const row of rows) this.put(team, row.token_id, storedJson<TeamToken>(row.token));
  }

  /** Deletes all tokens of a team. */
  removeTeam(teamId: string): void {
    this.#sql.exec("DELETE FROM tokens WHERE team_id = ?", teamId);
  }

  /** A page of the tokens of teams whose name contains `part` (in any case), in the given order. */
  list(page: PageRequest, { sort, reverse }: TokenOrder, part: string): Page<ListedToken> {
    const rows = { table: "tokens", order: KEYS[sort].column, reverse, part };
    return readPage(this.#sql, rows, page, (row: TokenRow) => ({
      team: { teamId: row.team_id, name: row.team_name },
      token: storedJson<TeamToken>(row.token),
    }));
  }
}
