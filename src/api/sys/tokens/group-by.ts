import type { GroupKind, TreeGrouping } from "../../../listing/inventory/terms.ts";

const KINDS: ReadonlyMap<string, GroupKind> = new Map([
  ["mount", "mount"],
  ["role", "role"],
  ["policy", "policy"],
  ["entity", "entity"],
  ["display_name", "name"],
]);

/** What a reader can group by, in words. */
export const GROUP_NAMES = [...KINDS.keys(), "metadata.NAME"].join(", ");

/** Groups by the value of a pair of metadata. */
const METADATA = /^metadata\.(.{1,256})$/s;

/** What tokens are grouped by; null for a name that means nothing. */
export function readGroupBy(text: string): GroupKind | null {
  const name = METADATA.exec(text)?.[1];
  return name === undefined ? (KINDS.get(text) ?? null) : `metadata.${name}`;
}

/** The same where trees are grouped by what their first tokens have; null where none are. */
export function treeGroupingOf(kind: GroupKind | null): TreeGrouping | null {
  return kind === "policy" || kind === "entity" ? null : kind;
}
