import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { organizationNamed, teamAt } from "../../../src/team/find.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { TOKEN_SORTS } from "../../../src/team/rules/sort.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, initialized } from "../../support/service.ts";
import { api, createOrganization, createTeam, errorOf, generateToken, list } from "../../support/teams.ts";

const TEAMS = 100_000;

/**
 * Fills the object of an organization with teams and tokens as if each had come one by one: `t<row>-<letters>`, every
 * seventh never ends, blocks filled as far as a load in order fills them, which is least.
 */
function fill(sql: SqlStorage, organizationId: string): void {
  // The owners, who have the first row, stay. What is counted and listed of them is made anew with the rest.
  for (const table of ["ranks", "rank_blocks", "rank_totals", "grams", "gram_counts"]) sql.exec(`DELETE FROM ${table}`);
  const team = `json_object('teamId', team_id, 'name', name_key, 'organization', 'big', 'organizationId', '${organizationId}',
    'visibility', 'secret', 'ssoTeamId', NULL, 'allowMemberTokenManagement', json('true'), 'organizationAccess', json('{}'),
    'tokenPolicies', json('[]'), 'createdAt', 0)`;
  const token = `json_object('tokenId', 'at-' || row, 'createdAt', 0, 'createdBy',
    json_object('type', 'users', 'id', 'user-x', 'name', created_by_key), 'expiresAt', NULL, 'expiredAt', NULL, 'lastUsedAt', NULL)`;
  sql.exec(
    `WITH RECURSIVE n (row) AS (SELECT 2 UNION ALL SELECT row + 1 FROM n WHERE row < ?)
     INSERT INTO teams (row, team_id, name_key, revision, team)
     SELECT row, 'team-' || row,
       't' || row || '-' || char(97 + row % 26, 97 + row / 26 % 26, 97 + row / 676 % 26), 1, ''
     FROM n`,
    TEAMS + 1,
  );
  sql.exec(
    `INSERT INTO tokens
       (row, team_id, token_id, team_name, token, name_key, created_by_key, expired_at_key, last_used_at_key)
     SELECT row, team_id, 'at-' || row, name_key, '', name_key,
       'user' || (row * 7919 % 500), CASE row % 7 WHEN 0 THEN ${Number.MAX_SAFE_INTEGER} ELSE 1e12 + row * 7919 % 1000 END,
       ${Number.MAX_SAFE_INTEGER}
     FROM teams WHERE row > 1`,
  );
  sql.exec(`UPDATE teams SET team = ${team} WHERE team = ''`);
  sql.exec(`UPDATE tokens SET token = ${token}`);
  const columns = { "team-name": "name_key", "created-by": "created_by_key" };
  const times = { "expired-at": "expired_at_key", "last-used-at": "last_used_at_key" };
  for (const [sort, column] of Object.entries({ teams: "name_key", ...columns, ...times })) {
    sql.exec(
      `INSERT INTO ranks (sort, key, row) SELECT ?, ${column}, row FROM ${sort === "teams" ? "teams" : "tokens"}`,
      sort,
    );
    sql.exec(
      `INSERT INTO rank_blocks (sort, key, row, count)
       SELECT sort, iif(place = 0, -1, key), iif(place = 0, 0, row), min(256, total - place)
       FROM (SELECT *, row_number() OVER (ORDER BY key, row) - 1 AS place, COUNT(*) OVER () AS total FROM ranks WHERE sort = ?)
       WHERE place % 256 = 0`,
      sort,
    );
    sql.exec("INSERT INTO rank_totals (sort, count) VALUES (?, ?)", sort, TEAMS + (sort === "teams" ? 1 : 0));
  }
  sql.exec(
    `WITH RECURSIVE at (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM at WHERE i < 12)
     INSERT OR IGNORE INTO grams (gram, row)
     SELECT substr(name_key || '  ', i, 3), row FROM teams JOIN at ON i <= length(name_key)`,
  );
  sql.exec("INSERT INTO gram_counts (gram, count) SELECT gram, COUNT(*) FROM grams GROUP BY gram");
}

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe("an organization with 100,000 teams", () => {
  const organization = organizationNamed(bindings, "big");

  beforeAll(async () => {
    await createOrganization(root, "big");
    const organizationId = (await organization.show("big"))?.organizationId ?? "";
    await runInDurableObject(organization, (_, state) => fill(state.storage.sql, organizationId));
  }, 120_000);

  const costOfList = (query: string) => costOf(organization, () => list(root, "big", `team-tokens?${query}`));

  it.each(TOKEN_SORTS.flatMap((sort) => [sort, `-${sort}`]))("any page by %s reads about the same", async (sort) => {
    for (const page of [1, 100, 1250, 2499, 2500, 2501, 4000, 4900, 5000]) {
      const { rowsRead } = await costOfList(`sort=${sort}&page[number]=${page}`);
      // 84 for the 20 entries of a page at the beginning; then the way over up to 196 blocks and through one of them.
      expect(rowsRead).toBeGreaterThanOrEqual(84);
      expect(rowsRead).toBeLessThanOrEqual(530);
    }
  });

  it("the largest page in the middle reads no more than its 100 tokens need besides", async () => {
    const { rowsRead } = await costOfList("page[size]=100&page[number]=500");
    expect(rowsRead).toBeGreaterThanOrEqual(404);
    expect(rowsRead).toBeLessThanOrEqual(850);
  });

  it("a page holds what its number says", async () => {
    const [first] = (await list(root, "big", "team-tokens?sort=team-name&page[size]=1&page[number]=50001")).body.data;
    const expected = await runInDurableObject(organization, (_, state) =>
      state.storage.sql
        .exec<{ name_key: string }>("SELECT name_key FROM tokens ORDER BY name_key LIMIT 1 OFFSET 50000")
        .one(),
    );
    expect(first?.attributes["team-name"]).toBe(expected.name_key);
  });

  it("a search reads the names under its rarest part, however common the rest is", async () => {
    for (const q of ["t99999", "99999-"]) {
      const { rowsRead } = await costOfList(`q=${q}`);
      expect(rowsRead).toBeGreaterThan(0);
      expect(rowsRead).toBeLessThanOrEqual(600);
    }
    expect((await costOfList("q=zzzz")).rowsRead).toBeLessThanOrEqual(15);
    // Nearly the most that is not refused: each of 3,846 names is listed, made unique and compared, and its token found.
    const answer = await list(root, "big", "team-tokens?q=-a");
    expect(answer.body.meta.pagination["total-count"]).toBe(3846);
    expect((await costOfList("q=-a")).rowsRead).toBeLessThanOrEqual(5 * 3846 + 100);
  });

  it("400: a search that would read more is refused before it reads", async () => {
    for (const q of ["t", "-", "t1", "1-"]) {
      const answer = await list(root, "big", `team-tokens?q=${q}`);
      expect(answer.status).toBe(400);
      expect(errorOf(answer).source).toEqual({ parameter: "q" });
      expect((await costOfList(`q=${q}`)).rowsRead).toBeLessThanOrEqual(40);
    }
  });

  it("a page of teams costs what a page of tokens costs", async () => {
    const { rowsRead } = await costOf(organization, () => list(root, "big", "teams?page[number]=2500"));
    expect(rowsRead).toBeGreaterThanOrEqual(84);
    expect(rowsRead).toBeLessThanOrEqual(530);
  });

  it("a change is a handful of rows", async () => {
    const teamId = await createTeam(root, "big", "one-more");
    const made = await costOf(organization, () => generateToken(root, teamId));
    expect(made.rowsWritten).toBe(16);
    expect(made.rowsRead).toBeLessThanOrEqual(20);
    const removed = await costOf(organization, () =>
      api("DELETE", `teams/${teamId}/authentication-token`, { token: root }),
    );
    expect(removed.rowsWritten).toBe(15);
    expect(removed.rowsRead).toBeLessThanOrEqual(45);
  });
});

describe("the use of a team token", () => {
  it("is one call to the team, and writes once a minute", async () => {
    await createOrganization(root, "busy");
    const teamId = await createTeam(root, "busy", "busy");
    const { text } = await generateToken(root, teamId);
    const team = teamAt(bindings, teamRoute(teamId));
    const use = () => api("GET", "account/details", { token: text });
    const first = await costOf(team, use);
    expect(first.rowsWritten).toBeGreaterThan(0);
    const next = await costOf(team, async () => {
      for (let i = 0; i < 10; i++) expect((await use()).status).toBe(200);
    });
    expect(next.rowsWritten).toBe(0);
    expect(next.rowsRead).toBeGreaterThan(0);
    expect(next.rowsRead).toBeLessThanOrEqual(60);
  });
});
