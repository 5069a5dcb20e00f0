import { type LocationHint, within } from "../base/location.ts";
import { objectIdOf } from "../base/object-id.ts";
import type { TokenEnv } from "./env.ts";

/** A tree as it is called. */
type TreeStub = ReturnType<TokenEnv["TOKEN_TREE"]["get"]>;

/**
 * The tree with this id, which is from a token, an accessor or a list of this installation.
 *
 * @param location where the platform shall put a new one; undefined: near the Worker that creates it.
 * @throws for what has not the form of an id.
 */
export function treeAt(env: TokenEnv, treeId: string, location?: LocationHint): TreeStub {
  const trees = within(env, env.TOKEN_TREE);
  const id = objectIdOf(trees, treeId);
  return location ? trees.get(id, { locationHint: location }) : trees.get(id);
}

/** The same; null for what is no id. */
export function treeOf(env: TokenEnv, treeId: string): TreeStub | null {
  try {
    return treeAt(env, treeId);
  } catch {
    return null;
  }
}

/** Generates the id of a new tree. It is not derived from a name, so no object wakes but the new one. */
export function newTreeId(env: TokenEnv): string {
  return within(env, env.TOKEN_TREE).newUniqueId().toString();
}
