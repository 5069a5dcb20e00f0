import { within } from "../base/location.ts";
import { nameKey } from "../base/name.ts";
import type { TeamEnv } from "./env.ts";

/** The team at `route`. The object of a team that does not exist stores nothing. */
export function teamAt(env: TeamEnv, route: string): ReturnType<TeamEnv["TEAM"]["getByName"]> {
  return within(env, env.TEAM).getByName(teamObjectName(route));
}

/** The name of the object of the team at `route`. */
export function teamObjectName(route: string): string {
  return `team-${route}`;
}

/**
 * The organization with this name. Names that differ only in case share an object, so only one of them can be taken. The
 * object answers only to its exact name, because policies compare exact names.
 */
export function organizationNamed(env: TeamEnv, name: string): ReturnType<TeamEnv["ORGANIZATION"]["getByName"]> {
  return within(env, env.ORGANIZATION).getByName(organizationObjectName(name));
}

/** The name of the object of the organization `name`. */
export function organizationObjectName(name: string): string {
  return `organization-${nameKey(name)}`;
}

/** The list of all organizations. */
export function organizationDirectory(env: TeamEnv): ReturnType<TeamEnv["ORGANIZATION_DIRECTORY"]["getByName"]> {
  return within(env, env.ORGANIZATION_DIRECTORY).getByName("organizations");
}
