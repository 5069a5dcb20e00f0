import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { NameSearch } from "../../../src/storage/name-search.ts";
import { RankedIndex } from "../../../src/storage/ranked-index.ts";
import { Schema } from "../../../src/storage/schema.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { organizationNamed, teamAt } from "../../../src/team/find.ts";
import { newTeamId, newTeamToken, newTokenId, teamRoute } from "../../../src/team/ids.ts";
import { Organization } from "../../../src/team/organization.ts";
import { ORGANIZATION_MIGRATIONS } from "../../../src/team/organization-migrations.ts";
import { TEAMS_BY_NAME } from "../../../src/team/organization-store.ts";
import type { TeamRecord } from "../../../src/team/record.ts";
import { TEAM_MIGRATIONS } from "../../../src/team/team-migrations.ts";
import { forgetSeals } from "../../support/seals.ts";
import { bindings, initialized } from "../../support/service.ts";
import { api, describeToken, idsOf, list, ownersOf, resource, statusOf } from "../../support/teams.ts";

const NO_TIME = Number.MAX_SAFE_INTEGER;

let root: string;

beforeAll(async () => {
  root = await initialized();
  await forgetSeals();
});

/** A team with a token as version 1 of the schemas stored it. */
async function storeTeam(organization: string, name: string, token: { expiresAt: number | null } | null, row: number) {
  const installation = await loadInstallation(bindings);
  if (!installation.ok) throw new Error("not initialised");
  const { keys } = installation.value;
  const teamId = await newTeamId(keys);
  const route = teamRoute(teamId);
  const { text, verifier } = await newTeamToken(keys, route);
  const team: TeamRecord = {
    teamId,
    organization,
    organizationId: "org-of-before",
    createdAt: 1,
    name,
    visibility: "secret",
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess: {},
    tokenPolicies: [],
  };
  const stored = token && {
    tokenId: await newTokenId(keys, route),
    createdAt: 1,
    createdBy: { type: "users", id: "user-x", name: "Ann" },
    expiresAt: token.expiresAt,
    expiredAt: token.expiresAt && new Date(token.expiresAt).toISOString(),
    lastUsedAt: null,
  };
  await runInDurableObject(teamAt(bindings, route), (_, state) => {
    const { sql } = state.storage;
    new Schema(sql, TEAM_MIGRATIONS.slice(0, 1)).create();
    sql.exec("INSERT INTO team VALUES (1, ?, 5, 5, 0)", JSON.stringify(team));
    if (stored) sql.exec("INSERT INTO token VALUES (1, ?, ?)", JSON.stringify(stored), verifier);
  });
  await runInDurableObject(organizationNamed(bindings, organization), (_, state) => {
    const { sql } = state.storage;
    const key = name.toLowerCase();
    const expires = token?.expiresAt ?? NO_TIME;
    sql.exec(
      "INSERT INTO teams VALUES (?, ?, ?, 5, ?, ?, ?, ?, ?)",
      row,
      teamId,
      key,
      JSON.stringify(team),
      stored && JSON.stringify(stored),
      stored && "ann",
      stored && expires,
      stored && NO_TIME,
    );
    const ranks = new RankedIndex(sql);
    new NameSearch(sql, "teams").add(key, row);
    ranks.add(TEAMS_BY_NAME, key, row);
    if (!stored) return;
    for (const [sort, value] of Object.entries({ "team-name": key, "created-by": "ann", "expired-at": expires }))
      ranks.add(sort, value, row);
    ranks.add("last-used-at", NO_TIME, row);
  });
  return { teamId, text, tokenId: stored?.tokenId ?? "" };
}

async function storeOrganization(name: string): Promise<void> {
  await runInDurableObject(organizationNamed(bindings, name), (_, state) => {
    const { sql } = state.storage;
    new Schema(sql, ORGANIZATION_MIGRATIONS.slice(0, 1)).create();
    const record = { name, organizationId: "org-of-before", email: "a@example.com", createdAt: 1 };
    sql.exec("INSERT INTO organization VALUES (1, ?, 1, 0, 0, ?)", JSON.stringify(record), Date.now() + 1e9);
  });
}

describe("an organization of before there were owners", () => {
  it("gets them from its alarm, unless a team has their name: that one gets no power from it", async () => {
    for (const [name, team] of [
      ["without-owners", "Team"],
      ["with-a-namesake", "Owners"],
    ] as const) {
      await storeOrganization(name);
      const { teamId } = await storeTeam(name, team, null, 1);
      await evictDurableObject(organizationNamed(bindings, name));
      await runDurableObjectAlarm(organizationNamed(bindings, name));
      const owners = await ownersOf(root, name);
      const record = await teamAt(bindings, teamRoute(owners)).show();
      expect([owners === teamId, record?.owners]).toEqual(team === "Owners" ? [true, undefined] : [false, true]);
    }
  });
});

describe("data of before there were several tokens", () => {
  it("opens: lists, searches, tokens that are good, and all that can be done with them", async () => {
    const name = "of-before";
    // Which would make the owners, a moment later.
    vi.spyOn(Organization.prototype, "alarm").mockResolvedValue();
    await storeOrganization(name);
    const never = await storeTeam(name, "Never", { expiresAt: null }, 1);
    const none = await storeTeam(name, "None", null, 2);
    const ends = await storeTeam(name, "Ends", { expiresAt: Date.UTC(2090, 0, 1) }, 3);
    // They wake up with this version.
    await evictDurableObject(organizationNamed(bindings, name));
    for (const { teamId } of [never, none, ends]) await evictDurableObject(teamAt(bindings, teamRoute(teamId)));
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([ends.tokenId, never.tokenId]);
    expect(idsOf(await list(root, name, "team-tokens?sort=-team-name"))).toEqual([never.tokenId, ends.tokenId]);
    expect(idsOf(await list(root, name, "team-tokens?q=EVE"))).toEqual([never.tokenId]);
    expect((await list(root, name, "teams")).body.data.map(({ id }) => id)).toEqual([
      ends.teamId,
      never.teamId,
      none.teamId,
    ]);
    for (const { text } of [never, ends]) {
      expect(await statusOf(text)).toBe(200);
    }
    const shown = await api("GET", `teams/${ends.teamId}/authentication-token`, { token: root });
    expect(shown.body.data).toMatchObject({ id: ends.tokenId, attributes: { description: null } });
    const added = await describeToken(root, ends.teamId, "CI");
    await api("PATCH", `teams/${ends.teamId}`, { token: root, body: resource("teams", { name: "zz" }) });
    expect([...idsOf(await list(root, name, "team-tokens?q=zz"))].sort()).toEqual([ends.tokenId, added.id].sort());
    expect((await api("DELETE", `authentication-tokens/${ends.tokenId}`, { token: root })).status).toBe(204);
    expect((await api("DELETE", `teams/${never.teamId}`, { token: root })).status).toBe(204);
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([added.id]);
  });
});
