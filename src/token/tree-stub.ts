import { type LocationHint, within } from "../base/location.ts";
import { stubWith } from "../base/object-stub.ts";
import type { TokenEnv } from "./env.ts";
import { treeBeginning } from "./ids.ts";

/** How a tree is called in a cluster. */
const RULES = {
  repeated: [
    "insert",
    "endOf",
    "isAlive",
    "rowStatus",
    "describe",
    "lineage",
    "aliveOf",
    "unrevokedOf",
    "unsweptEnd",
    "picture",
    "accessorsFrom",
    "countSelection",
    "countMeant",
    "exportPage",
  ],
  byCaller: ["create", "run", "act"],
} as const;

/**
 * The tree with this id, which must come from a token, an accessor or a list of this installation. A new one is made at
 * `location`, or near the Worker.
 */
export function treeAt(env: TokenEnv, treeId: string, location?: LocationHint) {
  const trees = within(env, env.TOKEN_TREE);
  const id = objectIdOf(trees, treeId);
  return stubWith(env, RULES, () => trees.get(id, location && { locationHint: location }));
}

/**
 * Generates the id of a new tree. It is not derived from a name, so no object wakes but the new one. A command line
 * takes an accessor that begins with `-` for an option, so ids that give such accessors are not used: one in 64.
 */
export function newTreeId(env: TokenEnv): string {
  const trees = within(env, env.TOKEN_TREE);
  let id = trees.newUniqueId().toString();
  while (treeBeginning(id).startsWith("-")) id = trees.newUniqueId().toString();
  return id;
}

/**
 * The platform's id of the object that this installation knows by `id`. In an installation that was restored from a
 * backup, `id` may be from another deployment, and the platform refuses it: the object then has `id` as its name. Only
 * for ids from tokens, accessors and lists of this installation, because any name leads to an object. A damaged id in a
 * list leads to an object without rows.
 */
function objectIdOf(objects: Pick<DurableObjectNamespace, "idFromString" | "idFromName">, id: string): DurableObjectId {
  try {
    return objects.idFromString(id);
  } catch {
    return objects.idFromName(id);
  }
}

/** True when the object `object` is the tree that `treeAt` finds by the name `name`. */
export function isNameOfTree(env: TokenEnv, object: DurableObjectId, name: string): boolean {
  return within(env, env.TOKEN_TREE).idFromName(name).equals(object);
}
