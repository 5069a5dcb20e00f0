import { nameKey } from "../base/name.ts";
import type { Env } from "../env.ts";

/** The team at `route`. There may be none: the object then says so and stays empty. */
export function teamAt(env: Env, route: string): ReturnType<Env["TEAM"]["getByName"]> {
  return env.TEAM.getByName(`team-${route}`);
}

/**
 * The organization of this name, if there is one. Names that differ only in case share an object, so that they can't both
 * be taken; the object answers to the exact name alone, since that is what policies look at.
 */
export function organizationNamed(env: Env, name: string): ReturnType<Env["ORGANIZATION"]["getByName"]> {
  return env.ORGANIZATION.getByName(`organization-${nameKey(name)}`);
}

/** The list of all organizations. */
export function organizationDirectory(env: Env): ReturnType<Env["ORGANIZATION_DIRECTORY"]["getByName"]> {
  return env.ORGANIZATION_DIRECTORY.getByName("organizations");
}
