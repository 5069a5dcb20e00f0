import type { CredentialKind } from "../../auth/kinds.ts";
import { inGroups } from "../../base/parallel.ts";
import { joinedUsage } from "../../policy/usage.ts";
import { reconcileTeams } from "../../team/reconcile-teams.ts";
import {
  organizationDirectory,
  organizationNamed,
  organizationObjectName,
  organizationsOf,
  otherTeamPaths,
  teamObjectName,
  teamRoutesOf,
} from "../../team/stubs.ts";
import { VAULT } from "../../wire/envelope.ts";
import { JSON_API } from "../json-api/dialect.ts";
import { TEAM_TOKENS } from "./credential.ts";
import { DISCOVERY_ROUTES, TEAM_ROUTES } from "./routes.ts";

export const TEAMS: CredentialKind = {
  format: TEAM_TOKENS,
  apis: [
    { dialect: VAULT, routes: DISCOVERY_ROUTES },
    {
      dialect: JSON_API,
      routes: TEAM_ROUTES,
      otherPaths: ({ env, installation }, path, data) => otherTeamPaths(env, installation.keys, path, data),
    },
  ],
  holders: [
    {
      name: "teams",
      async giving(env, policy, maxAsked) {
        const { items, next } = await organizationDirectory(env).after(0, maxAsked);
        const found = await inGroups(items, ({ name }) => organizationNamed(env, name).teamsWithPolicy(policy));
        return joinedUsage(found, next !== null);
      },
    },
  ],
  objects: {
    Team: { in: (env) => env.TEAM, names: async (env) => (await teamRoutesOf(env)).map(teamObjectName) },
    Organization: {
      in: (env) => env.ORGANIZATION,
      names: async (env) => (await organizationsOf(env)).map(organizationObjectName),
    },
    OrganizationDirectory: {
      in: (env) => env.ORGANIZATION_DIRECTORY,
      names: () => ["organizations"],
      storesUnderKeys: true,
    },
  },
  tidy: reconcileTeams,
};
