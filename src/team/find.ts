import { within } from "../base/location.ts";
import { nameKey } from "../base/name.ts";
import type { Env } from "../env.ts";

/** The team at `route`. A team that does not exist answers so, and its object stores nothing. */
export function teamAt(env: Env, route: string): ReturnType<Env["TEAM"]["getByName"]> {
  return within(env, env.TEAM).getByName(`team-${route}`);
}

/**
 * The organization of this name, if there is one. Names that differ only in case share an object, so only one of them
 * can be taken. The object answers only to its exact name, since policies compare exact names.
 */
export function organizationNamed(env: Env, name: string): ReturnType<Env["ORGANIZATION"]["getByName"]> {
  return within(env, env.ORGANIZATION).getByName(`organization-${nameKey(name)}`);
}

/** The list of all organizations. */
export function organizationDirectory(env: Env): ReturnType<Env["ORGANIZATION_DIRECTORY"]["getByName"]> {
  return within(env, env.ORGANIZATION_DIRECTORY).getByName("organizations");
}
