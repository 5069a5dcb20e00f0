import type { Token } from "../../client/answers.d.ts";
import { shortAccessor } from "../format.ts";
import { detailText, nameOf } from "./token-name.ts";

/** Separates a shared name from what is different. */
export const DIFFERS_BY = " · ";

/**
 * Names of tokens that are shown together, by accessor. Tokens with the same name get a suffix: the value of the
 * metadata key with the most different values, otherwise the end of the accessor.
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

/** The metadata key with the most values among these tokens; undefined when no key has more than one. */
function tellingKey(tokens: readonly Token[]): string | undefined {
  const values = new Map<string, Set<string>>();
  for (const { metadata } of tokens) {
    for (const [key, value] of Object.entries(metadata)) values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const [telling] = [...values].filter(([, of]) => of.size > 1).sort((a, b) => b[1].size - a[1].size);
  return telling?.[0];
}

/** The ends of the accessors of tokens that look the same in a list, by name and details; by accessor. */
export function marksOfAlike(tokens: readonly Token[]): ReadonlyMap<string, string> {
  const groups = Map.groupBy(tokens, (token) => JSON.stringify([nameOf(token), detailText(token)]));
  const alike = [...groups.values()].filter(({ length }) => length > 1).flat();
  return new Map(alike.map(({ accessor }) => [accessor, shortAccessor(accessor)]));
}
