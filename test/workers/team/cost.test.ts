import { beforeAll, describe, expect, it } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { TOKEN_SORTS } from "../../../src/team/rules/token-order.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { api, createOrganization, createTeam, generateToken, list } from "../../support/teams.ts";

const TEAMS = 100_000;

/** Fills the object of an organization with teams and a token of each: `t<row>-<letters>`, every seventh never ends. */
async function fill(stub: DurableObjectStub, organizationId: string): Promise<void> {
  const team = `json_object('teamId', team_id, 'name', name_key, 'organization', 'big', 'organizationId', '${organizationId}',
    'visibility', 'secret', 'ssoTeamId', NULL, 'allowMemberTokenManagement', json('true'), 'organizationAccess', json('{}'),
    'tokenPolicies', json('[]'), 'createdAt', 0)`;
  const token = `json_object('tokenId', 'at-' || row, 'createdAt', 0, 'createdBy',
    json_object('type', 'users', 'id', 'user-x', 'name', created_by_key), 'expiresAt', NULL, 'expiredAt', NULL, 'lastUsedAt', NULL)`;
  await alter(
    stub,
    `WITH RECURSIVE n (row) AS (SELECT 2 UNION ALL SELECT row + 1 FROM n WHERE row < ?)
     INSERT INTO teams (row, team_id, name_key, revision, team)
     SELECT row, 'team-' || row,
       't' || row || '-' || char(97 + row % 26, 97 + row / 26 % 26, 97 + row / 676 % 26), 1, ''
     FROM n`,
    TEAMS + 1,
  );
  await alter(
    stub,
    `INSERT INTO tokens
       (row, team_id, token_id, team_name, token, name_key, created_by_key, expired_at_key, last_used_at_key)
     SELECT row, team_id, 'at-' || row, name_key, '', name_key,
       'user' || (row * 7919 % 500), CASE row % 7 WHEN 0 THEN ${Number.MAX_SAFE_INTEGER} ELSE 1e12 + row * 7919 % 1000 END,
       ${Number.MAX_SAFE_INTEGER}
     FROM teams WHERE row > 1`,
  );
  await alter(stub, `UPDATE teams SET team = ${team} WHERE team = ''`);
  await alter(stub, `UPDATE tokens SET token = ${token}`);
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
    await fill(organization, organizationId);
  });

  const costOfList = (query: string) => costOf(organization, () => list(root, "big", `team-tokens?${query}`));

  /** Rows of `size` entries: in the index, in the table, and once more for the ids of a page. */
  const rowsOf = (size: number) => 3 * size + 10;

  it.each(TOKEN_SORTS.flatMap((sort) => [sort, `-${sort}`]))(
    "a page by %s reads the index up to its end, and counts the tokens",
    async (sort) => {
      for (const page of [1, 100, 2500, 5000]) {
        const { rowsRead } = await costOfList(`sort=${sort}&page[number]=${page}`);
        expect(rowsRead).toBeGreaterThanOrEqual(TEAMS);
        expect(rowsRead).toBeLessThanOrEqual(TEAMS + page * 20 + rowsOf(20));
      }
    },
  );

  it("a page holds what its number says", async () => {
    const [first] = (await list(root, "big", "team-tokens?sort=team-name&page[size]=1&page[number]=50001")).body.data;
    const letter = (at: number) => String.fromCharCode(97 + (Math.floor(at) % 26));
    const names = Array.from({ length: TEAMS }, (_, at) => at + 2).map(
      (row) => `t${row}-${letter(row)}${letter(row / 26)}${letter(row / 676)}`,
    );
    expect(first?.attributes["team-name"]).toBe(names.sort()[50_000]);
  });

  it("a search reads each name twice, to count and to find, and of the tokens those of the page", async () => {
    for (const [q, found] of [
      ["t99999", 1],
      ["zzzz", 0],
      ["-a", 3846],
    ] as const) {
      const answer = await list(root, "big", `team-tokens?q=${q}`);
      expect(answer.body.meta.pagination["total-count"]).toBe(found);
      expect((await costOfList(`q=${q}`)).rowsRead).toBeLessThanOrEqual(2 * TEAMS + rowsOf(20));
    }
  });

  it("a search for a single letter finds all that have it", async () => {
    const answer = await list(root, "big", "team-tokens?q=t");
    expect(answer.body.meta.pagination["total-count"]).toBe(TEAMS);
  });

  it("a page of teams costs what a page of tokens costs", async () => {
    const { rowsRead } = await costOf(organization, () => list(root, "big", "teams?page[number]=2500"));
    expect(rowsRead).toBeGreaterThanOrEqual(TEAMS);
    expect(rowsRead).toBeLessThanOrEqual(TEAMS + 2500 * 20 + rowsOf(20));
  });

  it("a change is a handful of rows", async () => {
    const teamId = await createTeam(root, "big", "one-more");
    const made = await costOf(organization, () => generateToken(root, teamId));
    expect(made.rowsWritten).toBe(8);
    expect(made.rowsRead).toBeLessThanOrEqual(20);
    const removed = await costOf(organization, () =>
      api("DELETE", `teams/${teamId}/authentication-token`, { token: root }),
    );
    expect(removed.rowsWritten).toBe(3);
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
