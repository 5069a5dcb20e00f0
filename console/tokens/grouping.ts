import type { Token } from "../../client/answers.d.ts";
import type { Filter } from "./filter.ts";
import { nameOf } from "./token-name.ts";

/** A grouping of tokens: a field, or `metadata.` and a key. */
export type GroupBy = string;

/** The fields to group by: label, name of the filter for a group, and name in `sys/tokens/summary`. */
export const GROUP_FIELDS: readonly (readonly [by: GroupBy, label: string, filter: string, counted: string])[] = [
  ["name", "Name", "display_name", "display_name"],
  ["role", "Role", "role", "role"],
  ["method", "Method", "mount", "mount"],
  ["policy", "Policy", "policy", "policy"],
  ["entity", "Entity", "entity_id", "entity"],
];

const METADATA = "metadata.";

/** True for a known grouping. */
export const isGrouping = (by: string): boolean =>
  GROUP_FIELDS.some(([name]) => name === by) || (by.startsWith(METADATA) && by.length > METADATA.length);

/** The grouping that the URL asks for, or the default. */
export const groupingOf = (asked: string | null, usual: GroupBy): GroupBy =>
  asked !== null && isGrouping(asked) ? asked : usual;

/** The key of `metadata.<key>`; undefined for a field. */
export const metadataKey = (by: GroupBy): string | undefined =>
  by.startsWith(METADATA) ? by.slice(METADATA.length) : undefined;

/** The group of a token; "" without one. */
export function groupOf(token: Token, by: GroupBy): string {
  const key = metadataKey(by);
  if (key !== undefined) return token.metadata[key] ?? "";
  switch (by) {
    case "role":
      return token.role;
    case "method":
      return token.mount;
    case "policy":
      return token.policies.find((name) => name !== "default") ?? token.policies[0] ?? "";
    case "entity":
      return token.entity_id;
    default:
      return nameOf(token);
  }
}

/** The name of the group of tokens without a value: `without a role`. */
export function withoutText(by: GroupBy): string {
  const key = metadataKey(by);
  if (key !== undefined) return `without ${key} in the metadata`;
  return by === "entity" ? "without an entity" : `without a ${by}`;
}

/** The filter for the tokens of a group; null when there is no such filter. */
export function filterOfGroup(by: GroupBy, group: string): Filter | null {
  if (group === "") return null;
  const key = metadataKey(by);
  if (key !== undefined) return { metadata: `${key}=${group}` };
  const field = GROUP_FIELDS.find(([name]) => name === by)?.[2];
  return field === undefined ? null : { [field]: group };
}

/** The query that counts the groups of a filter; null when the tokens have to be read. */
export function counterOf(by: GroupBy, { mount, ...others }: Filter): Readonly<Record<string, string>> | null {
  if (Object.keys(others).length > 0) return null;
  const counted = metadataKey(by) === undefined ? GROUP_FIELDS.find(([name]) => name === by)?.[3] : by;
  return counted === undefined ? null : { group_by: counted, ...(mount !== undefined && { mount }) };
}

/** The grouping by which the server counts trees; "" when the trees have to be read. */
export function treeCounterOf(by: GroupBy): string {
  if (metadataKey(by) !== undefined) return by;
  return by === "name" || by === "role" ? counterName(by) : "";
}

/** The name of a grouping in `sys/tokens/ends`. */
export const counterName = (by: GroupBy): string =>
  metadataKey(by) === undefined ? (GROUP_FIELDS.find(([name]) => name === by)?.[3] ?? "display_name") : by;

export interface Group<T> {
  readonly name: string;
  readonly of: readonly T[];
}

/** Groups, the largest first. */
export function grouped<T>(all: readonly T[], nameOfOne: (one: T) => string): readonly Group<T>[] {
  const groups = Map.groupBy(all, nameOfOne);
  return [...groups]
    .map(([name, of]) => ({ name, of }))
    .sort((a, b) => b.of.length - a.of.length || a.name.localeCompare(b.name));
}
