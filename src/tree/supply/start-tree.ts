import { currentTime } from "../../base/clock.ts";
import type { LocationHint } from "../../base/location.ts";
import { failureOfPlatform, isRefusedCall } from "../../base/platform-errors.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { allocateTree, unpooledTree } from "../../listing/tree-ids/allocate.ts";
import { noteChange } from "../../listing/updates/recent.ts";
import { treeAt } from "../../token/find-tree.ts";
import { MAX_ROW_ATTEMPTS, type NewTokenIds, newTokenIds, type TokenAddress } from "../../token/ids.ts";
import type { TokenSpec, TokenView } from "../../token/record.ts";
import type { CubbyholeValue } from "../cubbyhole/store.ts";
import type { TreeEnv } from "../env.ts";

/** The first token of a tree. */
export interface FirstToken {
  readonly token: TokenView;
  readonly ids: NewTokenIds;
}

/** What has to be done before a tree is started. */
export interface BeforeStart {
  /** The text of the token when root chose it. */
  readonly customId?: string;
  /** Called before the token is written, with its place; a failure ends the start. Its values are the first in the cubbyhole. */
  readonly prepare?: (place: TokenAddress) => Promise<Result<readonly CubbyholeValue[]>>;
  /** Where the platform shall put the tree; absent: near the Worker that creates it. */
  readonly location?: LocationHint | undefined;
}

/** From this attempt on the tree is a new one. */
const FIRST_NEW_TREE_ATTEMPT = 3;

const NOT_STORED: Failure = {
  code: "unavailable",
  message: "the token could not be stored; try again",
  retryAfterSeconds: 1,
};

/**
 * Starts a tree with its first token. Its id says nothing, so no object wakes but this one. Where the trees that were allocated are not
 * free, a new one is made: while the clock is set back none that was freed later can be had.
 */
export async function startTree(
  env: TreeEnv,
  keys: Keys,
  spec: TokenSpec,
  { customId, prepare, location }: BeforeStart = {},
): Promise<Result<FirstToken>> {
  for (let attempt = 1; attempt <= MAX_ROW_ATTEMPTS; attempt++) {
    const { treeId, allocatedBy } = attempt < FIRST_NEW_TREE_ATTEMPT ? await allocateTree(env) : unpooledTree(env);
    const ids = await newTokenIds(keys, treeId, currentTime(), customId);
    const prepared = prepare ? await prepare({ treeId, row: ids.row }) : ok([]);
    if (!prepared.ok) return prepared;
    const tree = treeAt(env, treeId, location);
    const created = await unlessRefused(() => tree.create(spec, ids, allocatedBy, prepared.value));
    if (!created.ok) return created;
    if (created.value === "taken") continue;
    noteChange(treeId, currentTime());
    return ok({ token: created.value, ids });
  }
  return err(NOT_STORED);
}

/** A refusal of the platform as a failure: nothing was written, so the caller can undo what came before. */
async function unlessRefused<T>(create: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await create();
  } catch (error) {
    const failure = isRefusedCall(error) ? failureOfPlatform(error) : null;
    if (!failure) throw error;
    console.error(JSON.stringify({ type: "creation of a tree", error: String(error) }));
    return err(failure);
  }
}
