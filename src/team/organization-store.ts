import { nameKey } from "../base/name.ts";
import { readPageOf } from "../storage/pages.ts";
import { storedJson } from "../storage/stored-json.ts";
import type { Sql } from "../storage/tables.ts";
import { ListedTokens } from "./listed-tokens.ts";
import type { Page, PageRequest, TeamRecord, TeamState } from "./record.ts";

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
  /** The tokens of the teams. */
  readonly tokens: ListedTokens;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.tokens = new ListedTokens(sql);
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
    this.#sql.exec(
      "INSERT INTO teams (team_id, name_key, revision, team) VALUES (?, ?, ?, ?)",
      team.teamId,
      nameKey(team.name),
      revision,
      JSON.stringify(team),
    );
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
  }

  /** Makes what is known of a team agree with its state. */
  update({ team, tokens, revision, unregistered }: TeamState): void {
    const before = this.#rowOf(team.teamId);
    if (!before) throw new Error("an unknown team can't be updated");
    if (unregistered) this.tokens.removeTeam(team.teamId);
    else if (team.name !== teamOf(before).name) this.tokens.rename(team);
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
    this.#sql.exec(
      "UPDATE teams SET name_key = ?, revision = ?, team = ? WHERE row = ?",
      nameKey(team.name),
      revision,
      JSON.stringify(team),
      before.row,
    );
  }

  /** Forgets a team. Safe to repeat. */
  remove(teamId: string): void {
    this.tokens.removeTeam(teamId);
    this.#sql.exec("DELETE FROM teams WHERE team_id = ?", teamId);
  }

  /** A page of the teams by name; with `part`, of those whose name holds it in any case. */
  listTeams({ number, size }: PageRequest, part: string): Page<TeamRecord> {
    const query = { table: "teams", order: "name_key", part: nameKey(part) };
    const page = readPageOf<TeamRow>(this.#sql, { ...query, offset: (number - 1) * size, limit: size });
    return { items: page.rows.map(teamOf), total: page.total };
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

  /** Names of the teams whose tokens have this policy. Reads all teams. */
  teamsWithPolicy(policy: string): string[] {
    return this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE instr(team, ?) > 0 ORDER BY name_key", JSON.stringify(policy))
      .toArray()
      .map(teamOf)
      .flatMap(({ name, tokenPolicies }) => (tokenPolicies.includes(policy) ? [name] : []));
  }

  /** At most `limit` teams whose row comes after `row`. */
  teamsAfter(row: number, limit: number): KnownTeam[] {
    return this.#sql
      .exec<TeamRow>("SELECT * FROM teams WHERE row > ? ORDER BY row LIMIT ?", row, limit)
      .toArray()
      .map(known);
  }

  #rowOf(teamId: string): TeamRow | null {
    return this.#sql.exec<TeamRow>("SELECT * FROM teams WHERE team_id = ?", teamId).toArray()[0] ?? null;
  }
}

function known(row: TeamRow): KnownTeam {
  return { row: row.row, teamId: row.team_id, name: teamOf(row).name, revision: row.revision };
}

function teamOf(row: TeamRow): TeamRecord {
  return storedJson<TeamRecord>(row.team);
}
