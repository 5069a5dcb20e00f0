import { nameKey } from "../base/name.ts";
import { NameSearch, type TooMany } from "../storage/name-search.ts";
import { RankedIndex } from "../storage/ranked-index.ts";
import type { Sql } from "../storage/tables.ts";
import { ListedTokens } from "./listed-tokens.ts";
import type { Page, PageRequest, TeamRecord, TeamState } from "./record.ts";

/** The list of all teams by name, beside those of the tokens. */
export const TEAMS_BY_NAME = "teams";

interface TeamRow extends Record<string, SqlStorageValue> {
  row: number;
  team_id: string;
  name_key: string;
  revision: number;
  team: string;
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
  readonly #sql: Sql;
  readonly #ranks: RankedIndex;
  readonly #names: NameSearch;
  /** The tokens of the teams. */
  readonly tokens: ListedTokens;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#ranks = new RankedIndex(sql);
    this.#names = new NameSearch(sql, "teams");
    this.tokens = new ListedTokens(sql, this.#ranks, this.#names);
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
  insert({ team, tokens, revision }: TeamState): void {
    const { row } = this.#sql
      .exec<{ row: number }>(
        "INSERT INTO teams (team_id, name_key, revision, team) VALUES (?, ?, ?, ?) RETURNING row",
        team.teamId,
        nameKey(team.name),
        revision,
        JSON.stringify(team),
      )
      .one();
    this.#names.add(nameKey(team.name), row);
    this.#ranks.add(TEAMS_BY_NAME, nameKey(team.name), row);
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
  }

  /** Makes what is known of a team agree with its state. */
  update({ team, tokens, revision, unregistered }: TeamState): void {
    const before = this.#rowOf(team.teamId);
    if (!before) throw new Error("an unknown team can't be updated");
    const name = nameKey(team.name);
    if (name !== before.name_key) {
      this.#names.remove(before.name_key, before.row);
      this.#names.add(name, before.row);
      this.#ranks.remove(TEAMS_BY_NAME, before.name_key, before.row);
      this.#ranks.add(TEAMS_BY_NAME, name, before.row);
    }
    if (unregistered) this.tokens.removeTeam(team.teamId);
    else if (team.name !== teamOf(before).name) this.tokens.rename(team);
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
    this.#sql.exec(
      "UPDATE teams SET name_key = ?, revision = ?, team = ? WHERE row = ?",
      name,
      revision,
      JSON.stringify(team),
      before.row,
    );
  }

  /** Forgets a team. Safe to repeat. */
  remove(teamId: string): void {
    const before = this.#rowOf(teamId);
    if (!before) return;
    this.tokens.removeTeam(teamId);
    this.#names.remove(before.name_key, before.row);
    this.#ranks.remove(TEAMS_BY_NAME, before.name_key, before.row);
    this.#sql.exec("DELETE FROM teams WHERE row = ?", before.row);
  }

  /** A page of the teams by name; with `part`, of those whose name holds it in any case. */
  listTeams({ number, size }: PageRequest, part: string): Page<TeamRecord> | TooMany {
    const offset = (number - 1) * size;
    if (part === "") {
      const rows = this.#ranks.page(TEAMS_BY_NAME, offset, size, false);
      return { items: this.#read(rows), total: this.#ranks.count(TEAMS_BY_NAME) };
    }
    const found = this.#names.find(nameKey(part));
    if (found === "too_many") return found;
    return { items: this.#read(found.slice(offset, offset + size)), total: found.length };
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

  /** At most `limit` teams whose row comes after `row`. */
  teamsAfter(row: number, limit: number): KnownTeam[] {
    return this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE row > ? ORDER BY row LIMIT ?", row, limit)
      .toArray()
      .map(known);
  }

  /**
   * Deletes a team whose organization is being deleted. Its entries in the indexes are deleted with the whole
   * organization.
   */
  drop({ row, teamId }: KnownTeam): void {
    this.tokens.drop(teamId);
    this.#sql.exec("DELETE FROM teams WHERE row = ?", row);
  }

  #rowOf(teamId: string): TeamRow | null {
    return this.#sql.exec<TeamRow>("SELECT * FROM teams WHERE team_id = ?", teamId).toArray()[0] ?? null;
  }

  /** Reads rows in the order of `rows`. */
  #read(rows: readonly number[]): TeamRecord[] {
    const found = this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE row IN (SELECT value FROM json_each(?))", JSON.stringify(rows))
      .toArray();
    const byRow = new Map(found.map((row) => [row.row, row]));
    return rows.flatMap((row) => {
      const team = byRow.get(row);
      return team ? [teamOf(team)] : [];
    });
  }
}

function known(row: TeamRow): KnownTeam {
  return { row: row.row, teamId: row.team_id, name: teamOf(row).name, revision: row.revision };
}

function teamOf(row: TeamRow): TeamRecord {
  return JSON.parse(row.team) as TeamRecord;
}
