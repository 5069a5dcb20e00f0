import { nameKey } from "../base/case-folding.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { objectNamed } from "../base/object-stub.ts";
import { inGroups } from "../base/parallel.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { OtherPaths } from "../policy/acl.ts";
import { allPages } from "../storage/pages.ts";
import { isObject } from "../wire/fields.ts";
import type { TeamEnv } from "./env.ts";
import { readTeamId, readTokenId } from "./ids.ts";
import type { TeamRecord } from "./record.ts";

/** How a team is called in a cluster. */
const TEAM_RULES = {
  repeated: [
    "show",
    "token",
    "unknownTokens",
    "authenticate",
    "endedToken",
    "compare",
    "end",
    "resync",
    "removeTokens",
  ],
} as const;

/** The team at `route`. The object of a team that does not exist stores nothing. */
export function teamAt(env: TeamEnv, route: string): ReturnType<TeamEnv["TEAM"]["getByName"]> {
  return objectNamed(env, env.TEAM, teamObjectName(route), TEAM_RULES);
}

export function teamObjectName(route: string): string {
  return `team-${route}`;
}

/** How an organization is called in a cluster. */
const ORGANIZATION_RULES = {
  repeated: [
    "show",
    "has",
    "lifetimes",
    "webhooks",
    "deliveries",
    "enabledWebhooks",
    "listTeams",
    "teamsNamed",
    "teamsWithPolicy",
    "listTokens",
    "teamRoutes",
    "tokenHolder",
    "noteDeliveries",
  ],
} as const;

/**
 * The organization with this name. Names that differ only in case share an object, so only one of them can be taken.
 * The object answers only to its exact name, because policies compare exact names.
 */
export function organizationNamed(env: TeamEnv, name: string): ReturnType<TeamEnv["ORGANIZATION"]["getByName"]> {
  return objectNamed(env, env.ORGANIZATION, organizationObjectName(name), ORGANIZATION_RULES);
}

export function organizationObjectName(name: string): string {
  return `organization-${nameKey(name)}`;
}

/** How the directory of organizations is called in a cluster. */
const DIRECTORY_RULES = {
  repeated: ["list", "after", "put", "remove", "hasEnded"],
} as const;

export function organizationDirectory(env: TeamEnv): ReturnType<TeamEnv["ORGANIZATION_DIRECTORY"]["getByName"]> {
  return objectNamed(env, env.ORGANIZATION_DIRECTORY, "organizations", DIRECTORY_RULES);
}

const PAGE = 200;

export async function organizationsOf(env: TeamEnv): Promise<string[]> {
  const names: string[] = [];
  const directory = organizationDirectory(env);
  for await (const { items } of allPages((after) => directory.after(after, PAGE))) {
    names.push(...items.map(({ name }) => name));
  }
  return names;
}

export async function teamRoutesOf(env: TeamEnv): Promise<string[]> {
  const found: string[] = [];
  for (const organization of await organizationsOf(env)) {
    const stub = organizationNamed(env, organization);
    for await (const { routes } of allPages((after) => stub.teamRoutes(after, PAGE))) found.push(...routes);
  }
  return found;
}

/** The path of a team or of a token: the first segment, the id, and what follows. */
const PATH = /^(teams|authentication-tokens)\/([^/]+)(\/.*)?$/;

/** The path of the tokens of an organization, where several are deleted by their ids. */
const OF_SEVERAL_TOKENS = /^organizations\/[^/]+\/team-tokens$/;
/** Maximum number of tokens that one request deletes. */
export const MAX_DELETED_TOKENS = 100;

const MAX_PLACES = 10_000;
/** By the route of a team: its path below its organization, which never changes. */
const places = new GenerationalCache<string, string>(MAX_PLACES);

/**
 * The other paths of a team or of a token. The alternate path is that below its organization:
 * `organizations/:name/teams/:id`, and for a token `authentication-tokens/:id` or `authentication-token` after it; for a
 * token of the organization itself `organizations/:name/authentication-tokens/:id`. Policies can name it instead of the
 * path of the request. For a token by its id, rules that deny its team's tokens deny as well, also when `data`, the
 * document of a deletion, has the id. null for other paths, and for a team that does not exist.
 */
export async function otherTeamPaths(
  env: TeamEnv,
  keys: Keys,
  path: string,
  { data: named }: Readonly<Record<string, unknown>> = {},
): Promise<OtherPaths | null> {
  if (Array.isArray(named) && OF_SEVERAL_TOKENS.test(path))
    return { denialPaths: await pathsOfTokens(env, keys, named) };
  const [, kind, id = "", rest = ""] = PATH.exec(path) ?? [];
  if (!kind) return null;
  const tokenRoute = kind === "authentication-tokens" ? await readTokenId(keys, id) : null;
  const route = tokenRoute ?? (await readTeamId(keys, id));
  const place = route === null ? null : await placeOf(env, route);
  if (place === null) return null;
  if (kind === "teams") return { alternatePath: place + rest };
  if (tokenRoute === null) return { alternatePath: `${place}/authentication-token${rest}` };
  const ofTeam = /teams\/[^/]+$/.exec(place)?.[0];
  return {
    alternatePath: `${place}/${kind}/${id}${rest}`,
    // The id does not tell whether it is of the token without a description, so a rule about that one denies all.
    denialPaths: [
      `${place}/authentication-token`,
      ...(ofTeam === undefined ? [] : [`${ofTeam}/${kind}/${id}${rest}`, `${ofTeam}/authentication-token`]),
    ],
  };
}

/** All paths of the tokens whose ids a document has. More than a deletion takes are left out: it is refused. */
async function pathsOfTokens(env: TeamEnv, keys: Keys, named: readonly unknown[]): Promise<string[]> {
  const paths = named.slice(0, MAX_DELETED_TOKENS).flatMap((item) => {
    const id = isObject(item) ? item.id : null;
    return typeof id === "string" && id.startsWith("at-") ? [`authentication-tokens/${id}`] : [];
  });
  const found = await inGroups([...new Set(paths)], async (path) => {
    const { alternatePath, denialPaths = [] } = (await otherTeamPaths(env, keys, path)) ?? {};
    return [path, ...(alternatePath === undefined ? [] : [alternatePath]), ...denialPaths];
  });
  return [...new Set(found.flat())];
}

/** The path of a team below its organization. That of a holder is the organization's. */
export function canonicalPathOf({
  organization,
  teamId,
  holder,
}: Pick<TeamRecord, "organization" | "teamId" | "holder">): string {
  return holder ? `organizations/${organization}` : `organizations/${organization}/teams/${teamId}`;
}

async function placeOf(env: TeamEnv, route: string): Promise<string | null> {
  const known = places.get(route);
  if (known !== undefined) return known;
  const team = await teamAt(env, route).show();
  if (!team) return null;
  const place = canonicalPathOf(team);
  places.set(route, place, 1);
  return place;
}
