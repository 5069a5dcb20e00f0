import { href } from "../href.ts";
import type { Preview } from "./revocation-preview.ts";
import { mountName } from "./selection.ts";

/** Where those whose tokens end can get others. */
export interface Way {
  readonly name: string;
  readonly href: string;
}

/** Ways that are named. */
const MOST = 8;

/** The methods by which the tokens came, and their roles, which are of the only method: the count names them apart. */
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

/** The policy that a filter is about; "" for another one. */
export const policyOf = (filter: Readonly<Record<string, unknown>>): string =>
  typeof filter.policy === "string" ? filter.policy : "";

/** The entity that a filter is about; "" for another one. */
export const entityOf = (filter: Readonly<Record<string, unknown>>): string =>
  typeof filter.entity_id === "string" ? filter.entity_id : "";
