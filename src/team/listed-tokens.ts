import { nameKey } from "../base/name.ts";
import { readPageOf } from "../storage/pages.ts";
import { type Sql, storedJson } from "../storage/tables.ts";
import type { ListedToken, Page, PageRequest, TeamToken } from "./record.ts";

/** What a list of team tokens can be sorted by. */
export const TOKEN_SORTS = ["team-name", "created-by", "expired-at", "last-used-at"] as const;

/** One of the orders of team tokens. Tokens without the time that is sorted by come last. */
export type TokenSort = (typeof TOKEN_SORTS)[number];

/** An order of team tokens, either way round. */
export interface TokenOrder {
  readonly sort: TokenSort;
  readonly reverse: boolean;
}

/** Tokens that end first come first. */
const DEFAULT_ORDER: TokenOrder = { sort: "expired-at", reverse: false };

/** Reads the `sort` parameter: a name, with `-` before it for the reverse order. null when it is not one. */
export function readTokenOrder(text: string | undefined): TokenOrder | null {
  if (text === undefined || text === "") return DEFAULT_ORDER;
  const reverse = text.startsWith("-");
  const sort = TOKEN_SORTS.find((name) => name === (reverse ? text.slice(1) : text));
  return sort ? { sort, reverse } : null;
}

/** The column of a token's row with its key in each order. */
const KEY_COLUMNS: Readonly<Record<TokenSort, string>> = {
  "team-name": "name_key",
  "created-by": "created_by_key",
  "expired-at": "expired_at_key",
  "last-used-at": "last_used_at_key",
};

/** After every time: where tokens without one are sorted. */
const NO_TIME = Number.MAX_SAFE_INTEGER;

type TokenKeys = Readonly<Record<TokenSort, string | number>>;

interface TokenRow extends Record<string, SqlStorageValue> {
  row: number;
  team_id: string;
  token_id: string;
  team_name: string;
  token: string;
  name_key: string;
  created_by_key: string;
  expired_at_key: number;
  last_used_at_key: number;
}

/** The tokens of an organization's teams, as rows that are kept sorted. */
export class ListedTokens {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Lists a token of the team as it is now; null: it is deleted. */
  put({ teamId, name }: ListedToken["team"], tokenId: string, token: TeamToken | null): void {
    if (!token) {
      this.#sql.exec("DELETE FROM tokens WHERE team_id = ? AND token_id = ?", teamId, tokenId);
      return;
    }
    const keys = keysOf(name, token);
    const statement = `INSERT INTO tokens
        (team_id, token_id, team_name, token, name_key, created_by_key, expired_at_key, last_used_at_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (team_id, token_id) DO UPDATE SET team_name = excluded.team_name, token = excluded.token,
        name_key = excluded.name_key, created_by_key = excluded.created_by_key,
        expired_at_key = excluded.expired_at_key, last_used_at_key = excluded.last_used_at_key`;
    const sorted = TOKEN_SORTS.map((sort) => keys[sort]);
    this.#sql.exec(statement, teamId, tokenId, name, JSON.stringify(token), ...sorted);
  }

  /** Lists the tokens of a team under its new name. */
  rename(team: ListedToken["team"]): void {
    const rows = this.#sql.exec<TokenRow>("SELECT * FROM tokens WHERE team_id = ?", team.teamId).toArray();
    for (const row of rows) this.put(team, row.token_id, tokenOf(row));
  }

  /** Takes all tokens of a team off the list. */
  removeTeam(teamId: string): void {
    this.#sql.exec("DELETE FROM tokens WHERE team_id = ?", teamId);
  }

  /** A page of the tokens in the given order; with `part`, of teams whose name holds it in any case. */
  list({ number, size }: PageRequest, { sort, reverse }: TokenOrder, part: string): Page<ListedToken> {
    const query = { table: "tokens", order: KEY_COLUMNS[sort], reverse, part: nameKey(part) };
    const page = readPageOf<TokenRow>(this.#sql, { ...query, offset: (number - 1) * size, limit: size });
    const items = page.rows.map((row) => ({ team: { teamId: row.team_id, name: row.team_name }, token: tokenOf(row) }));
    return { items, total: page.total };
  }
}

/** In the order of TOKEN_SORTS, which is that of the columns. */
function keysOf(name: string, token: TeamToken): TokenKeys {
  return {
    "team-name": nameKey(name),
    "created-by": token.createdBy.name.toLowerCase(),
    "expired-at": token.expiresAt ?? NO_TIME,
    "last-used-at": token.lastUsedAt ?? NO_TIME,
  };
}

function tokenOf({ token }: TokenRow): TeamToken {
  return storedJson<TeamToken>(token);
}
