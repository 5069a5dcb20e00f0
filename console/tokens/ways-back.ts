import { href } from "../href.ts";
import { mountName } from "../methods/mount-paths.ts";
import type { Preview } from "./revocation-preview.ts";

/** A page of a method or a role that can issue new tokens. */
export interface Way {
  readonly name: string;
  readonly href: string;
}

/** Most ways that are returned. */
const MOST = 8;

/**
 * The methods that issued the tokens, with links to the roles if there is only one method: the preview counts roles
 * apart from methods.
 */
export function waysOf({ mount: mounts, role: roles }: Preview["by"]): readonly Way[] {
  const paths = mounts.flatMap(({ key }) => (key === "" ? [] : [mountName(key)]));
  const [only] = paths;
  const named = roles.filter(({ key }) => key !== "");
  const ways = paths.map((path) => ({ name: `auth/${path}/`, href: href(["methods", path]) }));
  if (only === undefined || ways.length > 1) return ways.slice(0, MOST);
  const ofRoles = named.map(({ key }) => ({
    name: `role ${key}`,
    href: href(["methods", only], { part: "roles", name: key }),
  }));
  return [...ways, ...ofRoles].slice(0, MOST);
}

/** The policy of a filter; "" without one. */
export const policyOf = (filter: Readonly<Record<string, unknown>>): string =>
  typeof filter.policy === "string" ? filter.policy : "";

/** The entity of a filter; "" without one. */
export const entityOf = (filter: Readonly<Record<string, unknown>>): string =>
  typeof filter.entity_id === "string" ? filter.entity_id : "";
