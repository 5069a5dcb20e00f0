import { type LocationHint, within } from "../base/location.ts";
import { objectIdOf } from "../base/object-id.ts";
import type { TokenEnv } from "./env.ts";

/** A tree as it is called. */
type TreeStub = ReturnType<TokenEnv["TOKEN_TREE"]["get"]>;

/** The tree with this id, which is from a token, an accessor or a list of this installation; null for what is no id. */
export function treeOf(env: TokenEnv, treeId: string): TreeStub | null {
  const trees = within(env, env.TOKEN_TREE);
  try {
    return trees.get(objectIdOf(trees, treeId));
  } catch {
    return null;
  }
}

/** A tree that does not exist yet. */
export interface NewTree {
  readonly id: string;
  readonly stub: TreeStub;
}

/**
 * Generates the id of a new tree. It is not derived from a name, so no object wakes but the new one.
 *
 * @param location where the platform shall put it; undefined: near the Worker that creates it.
 */
export function newTree(env: TokenEnv, location?: LocationHint): NewTree {
  const trees = within(env, env.TOKEN_TREE);
  const id = trees.newUniqueId();
  return { id: id.toString(), stub: location ? trees.get(id, { locationHint: location }) : trees.get(id) };
}
