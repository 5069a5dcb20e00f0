import { nameKey } from "../base/case-folding.ts";
import type { Ms } from "../base/clock.ts";
import { type PageRequest, type RowPage, readPage } from "../storage/pages.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { type Migration, type Sql, storedJson, upsert } from "../storage/tables.ts";
import type { ListedTeamToken, OrganizationRecord, TeamRecord, TeamState, TeamToken } from "./record.ts";
import { SORT_COLUMNS, type TokenOrder } from "./rules/token-order.ts";

type TokenRow = { team_id: string; token_id: string; team_name: string; token: string };

export const ORGANIZATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organization, its teams with their tokens, what lists and searches them, and webhooks",
    // Each token has the name of its team, so that a page of tokens reads nothing else. The indexes have all columns
    // that a page and a search read before the rows of the page.
    sql: `
      CREATE TABLE organization (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        listed INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        checked_row INTEGER NOT NULL,
        check_at INTEGER NOT NULL,
        seal BLOB
      );
      CREATE TABLE teams (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL UNIQUE,
        name_key TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        team TEXT NOT NULL
      );
      CREATE TABLE tokens (
        row INTEGER PRIMARY KEY,
        team_id TEXT NOT NULL,
        token_id TEXT NOT NULL,
        team_name TEXT NOT NULL,
        token TEXT NOT NULL,
        name_key TEXT NOT NULL,
        created_by_key TEXT NOT NULL,
        expired_at_key INTEGER NOT NULL,
        last_used_at_key INTEGER NOT NULL,
        UNIQUE (team_id, token_id)
      );
      CREATE INDEX tokens_by_team_name ON tokens (name_key, row);
      CREATE INDEX tokens_by_created_by ON tokens (created_by_key, row, name_key);
      CREATE INDEX tokens_by_expired_at ON tokens (expired_at_key, row, name_key);
      CREATE INDEX tokens_by_last_used_at ON tokens (last_used_at_key, row, name_key);
      CREATE TABLE webhooks (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        record TEXT NOT NULL,
        secret BLOB,
        seal BLOB
      );
      CREATE TABLE deliveries (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        webhook_id TEXT NOT NULL,
        token_id TEXT NOT NULL,
        trigger TEXT NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (webhook_id, token_id, trigger)
      );
      CREATE INDEX deliveries_in_order ON deliveries (webhook_id, row);
    `,
  },
];

interface OrganizationRow extends Record<string, SqlStorageValue> {
  id: number;
  record: string;
  /** 1 when the directory has the current record. */
  listed: number;
  /** 1 from the deletion until every team has ended. */
  ended: number;
  /** When teams are compared next, and the row after which the comparison begins. */
  check_at: Ms;
  checked_row: number;
}

const ORGANIZATION: TableShape = { table: "organization", kind: "organization", key: ["id"], sealed: ["record"] };

type TeamRow = { row: number; team_id: string; revision: number; team: string };

/** What the organization knows about a team. */
export interface KnownTeam {
  readonly row: number;
  readonly teamId: string;
  readonly name: string;
  readonly revision: number;
}

/**
 * The row of an organization, with its sealed record and the progress of its background work, and copies of its teams
 * and their tokens for lists and searches.
 */
export class OrganizationStore {
  readonly #sql: Sql;
  readonly #rows: SealedTable<OrganizationRow>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#rows = new SealedTable(sql, seals, ORGANIZATION);
  }

  /** Writes a new organization. @param checkAt when teams are compared for the first time. */
  create(record: OrganizationRecord, checkAt: Ms): void {
    const json = JSON.stringify(record);
    this.#rows.put({ id: 1, record: json, listed: 0, ended: 0, checked_row: 0, check_at: checkAt });
  }

  writeRecord(record: OrganizationRecord): void {
    const row = this.row();
    if (row) this.#rows.put({ ...row, record: JSON.stringify(record) });
  }

  /** The record; null after the deletion, and for a record that was tampered with. */
  record(): OrganizationRecord | null {
    const row = this.#rows.find(1);
    return row && !row.ended ? storedJson<OrganizationRecord>(row.record) : null;
  }

  /** True from the deletion of the organization with exactly this name until every team has ended. */
  isBeingDeleted(name: string): boolean {
    const row = this.row();
    return row !== null && row.ended !== 0 && storedJson<OrganizationRecord>(row.record).name === name;
  }

  /** The row, even after the deletion and whether its seal holds or not; null without an organization. */
  row(): OrganizationRow | null {
    return this.#sql.exec<OrganizationRow>("SELECT * FROM organization").toArray()[0] ?? null;
  }

  noteProgress(column: "listed" | "ended" | "check_at" | "checked_row", value: number): void {
    this.#sql.exec(`UPDATE organization SET ${column} = ?`, value);
  }

  find(teamId: string): KnownTeam | null {
    const [row] = this.#teams("WHERE team_id = ?", teamId);
    return row ? known(row) : null;
  }

  isNameTaken(name: string, teamId: string): boolean {
    return this.#teams("WHERE name_key = ?", nameKey(name)).some((row) => row.team_id !== teamId);
  }

  insert({ team, tokens, revision }: TeamState): void {
    const statement = "INSERT INTO teams (team_id, name_key, revision, team) VALUES (?, ?, ?, ?)";
    this.#sql.exec(statement, team.teamId, nameKey(team.name), revision, JSON.stringify(team));
    this.#putTokens(team, tokens);
  }

  update({ row, name }: KnownTeam, { team, tokens, revision, unregistered }: TeamState): void {
    if (unregistered) this.#sql.exec("DELETE FROM tokens WHERE team_id = ?", team.teamId);
    else if (team.name !== name) this.#putTokens(team, this.#tokensOf(team));
    this.#putTokens(team, tokens);
    const statement = "UPDATE teams SET name_key = ?, revision = ?, team = ? WHERE row = ?";
    this.#sql.exec(statement, nameKey(team.name), revision, JSON.stringify(team), row);
  }

  /** Removes a team with its tokens. Safe to repeat. */
  remove(teamId: string): void {
    for (const table of ["tokens", "teams"]) this.#sql.exec(`DELETE FROM ${table} WHERE team_id = ?`, teamId);
  }

  listTeams(page: PageRequest, part: string): RowPage<TeamRecord> {
    return readPage(this.#sql, { table: "teams", order: "name_key", part }, page, teamOf);
  }

  listTokens(page: PageRequest, { sort, reverse }: TokenOrder, part: string): RowPage<ListedTeamToken> {
    const rows = { table: "tokens", order: SORT_COLUMNS[sort].column, reverse, part };
    return readPage(this.#sql, rows, page, (row: TokenRow) => ({
      team: { teamId: row.team_id, name: row.team_name },
      token: storedJson<TeamToken>(row.token),
    }));
  }

  /** The teams with these names, in any case. */
  teamsNamed(names: readonly string[]): TeamRecord[] {
    const keys = JSON.stringify(names.map(nameKey));
    return this.#teams("WHERE name_key IN (SELECT value FROM json_each(?)) ORDER BY name_key", keys).map(teamOf);
  }

  /** Names of the teams whose tokens have this policy. Reads all teams. */
  teamsWithPolicy(policy: string): string[] {
    const teams = this.#teams("WHERE instr(team, ?) > 0 ORDER BY name_key", JSON.stringify(policy)).map(teamOf);
    return teams.filter(({ tokenPolicies }) => tokenPolicies.includes(policy)).map(({ name }) => name);
  }

  teamsAfter(row: number, limit: number): KnownTeam[] {
    return this.#teams("WHERE row > ? ORDER BY row LIMIT ?", row, limit).map(known);
  }

  #putTokens(team: ListedTeamToken["team"], tokens: TeamState["tokens"]): void {
    for (const { tokenId, token } of tokens) {
      if (token) {
        const row = { team_id: team.teamId, token_id: tokenId, team_name: team.name, token: JSON.stringify(token) };
        const keys = Object.values(SORT_COLUMNS).map(({ column, keyOf }) => [column, keyOf({ team, token })] as const);
        upsert(this.#sql, "tokens", ["team_id", "token_id"], { ...row, ...Object.fromEntries(keys) });
      } else {
        this.#sql.exec("DELETE FROM tokens WHERE team_id = ? AND token_id = ?", team.teamId, tokenId);
      }
    }
  }

  #tokensOf({ teamId }: TeamRecord): TeamState["tokens"] {
    const rows = this.#sql.exec<TokenRow>("SELECT * FROM tokens WHERE team_id = ?", teamId).toArray();
    return rows.map(({ token_id: tokenId, token }) => ({ tokenId, token: storedJson<TeamToken>(token) }));
  }

  #teams(which: string, ...values: (string | number)[]): TeamRow[] {
    return this.#sql.exec<TeamRow>(`SELECT * FROM teams ${which}`, ...values).toArray();
  }
}

function known(row: TeamRow): KnownTeam {
  return { row: row.row, teamId: row.team_id, name: teamOf(row).name, revision: row.revision };
}

function teamOf(row: TeamRow): TeamRecord {
  return storedJson<TeamRecord>(row.team);
}
