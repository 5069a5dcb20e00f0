import { nameKey } from "../base/name.ts";
import { readPageOf } from "../storage/pages.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import { SealedTable, type TableShape } from "../storage/sealed-table.ts";
import { columnOf, type Migration, type Sql, storedJson } from "../storage/tables.ts";
import { ListedTokens } from "./listed-tokens.ts";
import type { OrganizationRecord, Page, PageRequest, TeamRecord, TeamState } from "./record.ts";

/** The schema of an organization. */
export const ORGANIZATION_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the organization, its teams with their tokens, what lists and searches them, and webhooks",
    // The name of the team is kept with each token, so that a page of tokens reads nothing else. The indexes have all that
    // the way to a page and a search need.
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

interface Row extends Record<string, SqlStorageValue> {
  id: number;
  record: string;
  /** 1 when the directory has the record as it is. */
  listed: number;
  /** 1 from the moment of deletion until every team has ended. */
  ended: number;
  /** When some teams are compared next (ms), and the row after which. */
  check_at: number;
  checked_row: number;
}

/** The columns that say how far the work in the background is. */
type Progress = Pick<Row, "listed" | "ended" | "check_at" | "checked_row">;

const SHAPE: TableShape = { table: "organization", kind: "organization", key: ["id"], sealed: ["record"] };

/** The one row of an organization: its record, which is sealed, and how far its work in the background is. */
export class OrganizationRow {
  readonly #sql: Sql;
  readonly #rows: SealedTable<Row>;

  constructor(sql: Sql, seals: RowSeals) {
    this.#sql = sql;
    this.#rows = new SealedTable(sql, seals, SHAPE);
  }

  /** @param checkAt when teams are first compared (ms). */
  insert(record: OrganizationRecord, checkAt: number): void {
    const json = JSON.stringify(record);
    this.#rows.put({ id: 1, record: json, listed: 0, ended: 0, checked_row: 0, check_at: checkAt });
  }

  /** The record of an organization that exists. Null after its end, and for one that was tampered with. */
  record(): OrganizationRecord | null {
    const row = this.#rows.find(1);
    return row && !row.ended ? storedJson<OrganizationRecord>(row.record) : null;
  }

  /** The name and id of the organization, after its end too. */
  identity(): Pick<OrganizationRecord, "name" | "organizationId"> {
    const { name, organizationId } = storedJson<OrganizationRecord>(this.#read().record);
    return { name, organizationId };
  }

  write(record: OrganizationRecord): void {
    this.#rows.put({ ...this.#read(), record: JSON.stringify(record) });
  }

  /** null when there is no organization. */
  progress(): Progress | null {
    return this.#sql.exec<Row>("SELECT * FROM organization").toArray()[0] ?? null;
  }

  note(column: keyof Progress, value: number): void {
    this.#sql.exec(`UPDATE organization SET ${column} = ?`, value);
  }

  #read(): Row {
    return this.#sql.exec<Row>("SELECT * FROM organization").one();
  }
}

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
    const holders = columnOf<string>(this.#sql, "SELECT team_id FROM teams WHERE name_key = ?", nameKey(name));
    return holders.some((holder) => holder !== teamId);
  }

  /** Takes a team in. */
  insert({ team, tokens, revision }: TeamState): void {
    const statement = "INSERT INTO teams (team_id, name_key, revision, team) VALUES (?, ?, ?, ?)";
    this.#sql.exec(statement, team.teamId, nameKey(team.name), revision, JSON.stringify(team));
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
  }

  /** Makes what is known of a team agree with its state. */
  update({ team, tokens, revision, unregistered }: TeamState): void {
    const before = this.#rowOf(team.teamId);
    if (!before) throw new Error("an unknown team can't be updated");
    if (unregistered) this.tokens.removeTeam(team.teamId);
    else if (team.name !== teamOf(before).name) this.tokens.rename(team);
    for (const { tokenId, token } of tokens) this.tokens.put(team, tokenId, token);
    const statement = "UPDATE teams SET name_key = ?, revision = ?, team = ? WHERE row = ?";
    this.#sql.exec(statement, nameKey(team.name), revision, JSON.stringify(team), before.row);
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
    const keys = JSON.stringify(names.map(nameKey));
    return this.#teams("WHERE name_key IN (SELECT value FROM json_each(?)) ORDER BY name_key", keys).map(teamOf);
  }

  /** Names of the teams whose tokens have this policy. Reads all teams. */
  teamsWithPolicy(policy: string): string[] {
    const teams = this.#teams("WHERE instr(team, ?) > 0 ORDER BY name_key", JSON.stringify(policy)).map(teamOf);
    return teams.filter(({ tokenPolicies }) => tokenPolicies.includes(policy)).map(({ name }) => name);
  }

  /** At most `limit` teams whose row comes after `row`. */
  teamsAfter(row: number, limit: number): KnownTeam[] {
    return this.#teams("WHERE row > ? ORDER BY row LIMIT ?", row, limit).map(known);
  }

  #rowOf(teamId: string): TeamRow | null {
    return this.#teams("WHERE team_id = ?", teamId)[0] ?? null;
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
