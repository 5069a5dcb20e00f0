import type { Token } from "../../client/answers.d.ts";
import { shortAccessor } from "../format.ts";
import { nameOf } from "../tokens/selection.ts";

/** Between a name that several have and what one of them differs by. */
export const DIFFERS_BY = " · ";

/**
 * The names of tokens that are shown beside each other, by accessor. Where several have the same name, each has what it
 * differs by as well: the value of the key of metadata that tells most of them apart, otherwise the end of its accessor.
 */
export function distinctNames(tokens: readonly Token[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, alike] of Map.groupBy(tokens, nameOf)) {
    const key = alike.length > 1 ? tellingKey(alike) : undefined;
    for (const { accessor, metadata } of alike) {
      const own = key === undefined ? undefined : metadata[key];
      const difference = alike.length === 1 ? "" : DIFFERS_BY + (own ?? shortAccessor(accessor));
      names.set(accessor, name + difference);
    }
  }
  return names;
}

/** The key of metadata with the most values among these; undefined when none has more than one. */
function tellingKey(tokens: readonly Token[]): string | undefined {
  const values = new Map<string, Set<string>>();
  for (const { metadata } of tokens) {
    for (const [key, value] of Object.entries(metadata)) values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const [telling] = [...values].filter(([, of]) => of.size > 1).sort((a, b) => b[1].size - a[1].size);
  return telling?.[0];
}
