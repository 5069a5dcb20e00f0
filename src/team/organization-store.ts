import { NAME_SEARCH_TABLES, NameSearch, type TooMany } from "../storage/name-search.ts";
import { RANKED_INDEX_TABLES, RankedIndex } from "../storage/ranked-index.ts";
import type { Migration } from "../storage/schema.ts";
import type { Page, PageRequest, TeamRecord, TeamState, TeamToken, TeamWithToken } from "./record.ts";
import { nameKey } from "./rules/name.ts";
import { TOKEN_SORTS, type TokenOrder, type TokenSort } from "./rules/sort.ts";

/** The schema of an organization. */
export const ORGANIZATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organization, its teams with their tokens, and what lists and searches them",
    // The keys of a team's entries in the ranked indexes are kept beside it: to remove an entry one has to know its key.
    sql: `
      CREATE TABLE organization (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        listed INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        checked_row INTEGER NOT NULL,
        check_at INTEGER NOT NULL
      );
      CREATE TABLE teams (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL UNIQUE,
        name_key TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        team TEXT NOT NULL,
        token TEXT,
        created_by_key TEXT,
        expired_at_key INTEGER,
        last_used_at_key INTEGER
      );
      ${RANKED_INDEX_TABLES}
      ${NAME_SEARCH_TABLES}
    `,
  },
];

/** The list of all teams by name, beside those of the tokens. */
export const TEAMS_BY_NAME = "teams";

/** The column of a team's row with its key in each order of tokens. */
const KEY_COLUMNS: Readonly<Record<TokenSort, string>> = {
  "team-name": "name_key",
  "created-by": "created_by_key",
  "expired-at": "expired_at_key",
  "last-used-at": "last_used_at_key",
};

/** After every time: where tokens without one are sorted. */
const NO_TIME = Number.MAX_SAFE_INTEGER;

interface TeamRow extends Record<string, SqlStorageValue> {
  row: number;
  team_id: string;
  name_key: string;
  revision: number;
  team: string;
  token: string | null;
  created_by_key: string | null;
  expired_at_key: number | null;
  last_used_at_key: number | null;
}

/** What the organization knows of a team. */
export interface KnownTeam {
  readonly row: number;
  readonly teamId: string;
  readonly name: string;
  readonly revision: number;
}

/** The teams of an organization and their tokens, as rows that are kept listed, sorted and searchable. */
export class OrganizationStore {
  readonly #sql: SqlStorage;
  readonly #ranks: RankedIndex;
  readonly #names: NameSearch;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#ranks = new RankedIndex(sql);
    this.#names = new NameSearch(sql, "teams");
  }

  /** What is known of the team with this id. */
  find(teamId: string): KnownTeam | null {
    const row = this.#rowOf(teamId);
    return row && known(row);
  }

  /** True when a team other than `teamId` has the name. */
  isNameTaken(name: string, teamId: string): boolean {
    const holder = this.#sql
      .exec<{ team_id: string }>("SELECT team_id FROM teams WHERE name_key = ?", nameKey(name))
      .toArray()[0];
    return holder !== undefined && holder.team_id !== teamId;
  }

  /** Takes a team in. */
  insert(state: TeamState): void {
    const { row } = this.#sql
      .exec<{ row: number }>(
        "INSERT INTO teams (team_id, name_key, revision, team) VALUES (?, ?, ?, ?) RETURNING row",
        state.team.teamId,
        nameKey(state.team.name),
        state.revision,
        JSON.stringify(state.team),
      )
      .one();
    this.#names.add(nameKey(state.team.name), row);
    this.#ranks.add(TEAMS_BY_NAME, nameKey(state.team.name), row);
    if (state.token) this.update(state);
  }

  /** Makes what is known of a team agree with its state. */
  update({ team, token, revision }: TeamState): void {
    const before = this.#rowOf(team.teamId);
    if (!before) throw new Error("an unknown team can't be updated");
    const name = nameKey(team.name);
    const keys = keysOf(name, token);
    if (name !== before.name_key) {
      this.#names.remove(before.name_key, before.row);
      this.#names.add(name, before.row);
      this.#ranks.remove(TEAMS_BY_NAME, before.name_key, before.row);
      this.#ranks.add(TEAMS_BY_NAME, name, before.row);
    }
    this.#rankToken(before, keys);
    this.#sql.exec(
      `UPDATE teams SET name_key = ?, revision = ?, team = ?, token = ?,
       created_by_key = ?, expired_at_key = ?, last_used_at_key = ? WHERE row = ?`,
      name,
      revision,
      JSON.stringify(team),
      token && JSON.stringify(token),
      keys?.["created-by"] ?? null,
      keys?.["expired-at"] ?? null,
      keys?.["last-used-at"] ?? null,
      before.row,
    );
  }

  /** Forgets a team. Safe to repeat. */
  remove(teamId: string): void {
    const before = this.#rowOf(teamId);
    if (!before) return;
    this.#rankToken(before, null);
    this.#names.remove(before.name_key, before.row);
    this.#ranks.remove(TEAMS_BY_NAME, before.name_key, before.row);
    this.#sql.exec("DELETE FROM teams WHERE row = ?", before.row);
  }

  /** A page of the teams by name; with `part`, of those whose name holds it in any case. */
  listTeams({ number, size }: PageRequest, part: string): Page<TeamRecord> | TooMany {
    const offset = (number - 1) * size;
    if (part === "") {
      const rows = this.#ranks.page(TEAMS_BY_NAME, offset, size, false);
      return { items: this.#read(rows, teamOf), total: this.#ranks.count(TEAMS_BY_NAME) };
    }
    const found = this.#names.find(nameKey(part), "true", "name_key");
    if (found === "too_many") return found;
    return { items: this.#read(found.slice(offset, offset + size), teamOf), total: found.length };
  }

  /** The teams with exactly one of these names, in any case. */
  teamsNamed(names: readonly string[]): TeamRecord[] {
    return this.#sql
      .exec<TeamRow>(
        "SELECT * FROM teams WHERE name_key IN (SELECT value FROM json_each(?)) ORDER BY name_key",
        JSON.stringify(names.map(nameKey)),
      )
      .toArray()
      .map(teamOf);
  }

  /** A page of the tokens in the given order; with `part`, of teams whose name holds it in any case. */
  listTokens(
    { number, size }: PageRequest,
    { sort, reverse }: TokenOrder,
    part: string,
  ): Page<TeamWithToken> | TooMany {
    const offset = (number - 1) * size;
    if (part === "") {
      const rows = this.#ranks.page(sort, offset, size, reverse);
      return { items: this.#read(rows, teamAndToken), total: this.#ranks.count(sort) };
    }
    const found = this.#names.find(nameKey(part), "t.token IS NOT NULL", KEY_COLUMNS[sort]);
    if (found === "too_many") return found;
    const rows = reverse ? found.reverse() : found;
    return { items: this.#read(rows.slice(offset, offset + size), teamAndToken), total: found.length };
  }

  /** At most `limit` teams whose row comes after `row`. */
  teamsAfter(row: number, limit: number): KnownTeam[] {
    return this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE row > ? ORDER BY row LIMIT ?", row, limit)
      .toArray()
      .map(known);
  }

  /** Drops a team that only waits for the whole organization to go: its entries in the indexes go with that. */
  drop(row: number): void {
    this.#sql.exec("DELETE FROM teams WHERE row = ?", row);
  }

  /** Moves the token of a team to where `keys` say in every order; null: it has none any more. */
  #rankToken(before: TeamRow, keys: TokenKeys | null): void {
    for (const sort of TOKEN_SORTS) {
      const old = before.token === null ? null : (before[KEY_COLUMNS[sort]] as string | number);
      const key = keys?.[sort] ?? null;
      if (old === key) continue;
      if (old !== null) this.#ranks.remove(sort, old, before.row);
      if (key !== null) this.#ranks.add(sort, key, before.row);
    }
  }

  #rowOf(teamId: string): TeamRow | null {
    return this.#sql.exec<TeamRow>("SELECT * FROM teams WHERE team_id = ?", teamId).toArray()[0] ?? null;
  }

  /** Reads rows in the order of `rows`. */
  #read<T>(rows: readonly number[], read: (row: TeamRow) => T): T[] {
    const found = this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE row IN (SELECT value FROM json_each(?))", JSON.stringify(rows))
      .toArray();
    const byRow = new Map(found.map((row) => [row.row, row]));
    return rows.flatMap((row) => {
      const team = byRow.get(row);
      return team ? [read(team)] : [];
    });
  }
}

type TokenKeys = Readonly<Record<TokenSort, string | number>>;

function keysOf(name: string, token: TeamToken | null): TokenKeys | null {
  return (
    token && {
      "team-name": name,
      "created-by": token.createdBy.name.toLowerCase(),
      "expired-at": token.expiresAt ?? NO_TIME,
      "last-used-at": token.lastUsedAt ?? NO_TIME,
    }
  );
}

function known(row: TeamRow): KnownTeam {
  return { row: row.row, teamId: row.team_id, name: teamOf(row).name, revision: row.revision };
}

function teamOf(row: TeamRow): TeamRecord {
  return JSON.parse(row.team) as TeamRecord;
}

function teamAndToken(row: TeamRow): TeamWithToken {
  return { team: teamOf(row), token: JSON.parse(row.token ?? "null") as TeamToken };
}
