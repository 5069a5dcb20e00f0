import { nameKey } from "../../../src/base/name.ts";
import { OrganizationStore } from "../../../src/team/organization-store.ts";
import type { TeamRecord, TeamToken } from "../../../src/team/record.ts";
import type { GroveBuild } from "../servers/grove.ts";
import { asStorage, inBulk, openDatabase } from "./installation.ts";

const MINUTE_MS = 60_000;

/**
 * Adds `count` teams with tokens to what an organization lists, all like the only team that it has, which the API made.
 * The server must be stopped. Only lists show these teams: there are no objects behind them.
 */
export function seedTeams(build: GroveBuild, directory: string, organization: string, count: number): void {
  const database = openDatabase(build, directory, "Organization", `organization-${nameKey(organization)}`);
  const row = database.prepare("SELECT team, token FROM teams JOIN tokens USING (team_id)").get();
  if (typeof row?.team !== "string" || typeof row.token !== "string") throw new Error("there is no team with a token");
  const team = JSON.parse(row.team) as TeamRecord;
  const token = JSON.parse(row.token) as TeamToken;
  const store = new OrganizationStore(asStorage(database));
  inBulk(database, () => {
    for (let number = 0; number < count; number++) {
      const suffix = String(number).padStart(6, "0");
      store.insert({
        team: { ...team, teamId: `${team.teamId}${suffix}`, name: `${team.name}-${suffix}` },
        tokens: [
          {
            tokenId: `${token.tokenId}${suffix}`,
            // In another order than the names.
            token: {
              ...token,
              tokenId: `${token.tokenId}${suffix}`,
              lastUsedAt: token.createdAt + ((number * 7919) % count) * MINUTE_MS,
            },
          },
        ],
        revision: 1,
        ended: false,
        unregistered: false,
      });
    }
  });
}
