import type { Env } from "../env.ts";
import type { TokenTree } from "./token-tree.ts";

/** The tree with this id, or null when this installation never made such an id: then nothing wakes. */
export function treeOf(env: Env, treeId: string): DurableObjectStub<TokenTree> | null {
  try {
    return env.TOKEN_TREE.get(env.TOKEN_TREE.idFromString(treeId));
  } catch {
    return null;
  }
}
