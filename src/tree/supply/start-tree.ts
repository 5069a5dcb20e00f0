import { currentTime } from "../../base/clock.ts";
import type { LocationHint } from "../../base/location.ts";
import { repeated } from "../../base/lost-call-retry.ts";
import { failureOfPlatform, isRefusedCall } from "../../base/platform-errors.ts";
import { err, ok, type Result, unavailable } from "../../base/result.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { allocateTree, unpooledTree } from "../../listing/trees/tree-id-supply.ts";
import { noteChange } from "../../listing/updates/publish.ts";
import { MAX_ROW_ATTEMPTS, type NewTokenIds, newTokenIds, type TokenAddress } from "../../token/ids.ts";
import type { TokenSpec, TokenView } from "../../token/record.ts";
import { treeAt } from "../../token/tree-stub.ts";
import type { CubbyholeValue } from "../cubbyhole.ts";
import type { TreeEnv } from "../env.ts";

interface BeforeStart {
  readonly customId?: string;
  /** Called with the token's address before it is written. Returns the first values in its cubbyhole, or a failure. */
  readonly prepare?: (place: TokenAddress) => Promise<Result<readonly CubbyholeValue[]>>;
  /** Location hint for the tree; absent: near the Worker that creates it. */
  readonly location?: LocationHint | undefined;
}

/** The first attempt with the id of a tree that was never used. */
const FIRST_NEW_TREE_ATTEMPT = 3;

/**
 * Starts a tree with its first token. No other object wakes, because the id of the tree is not derived from a name.
 * When allocated trees are not free, it uses a tree that was never used: while the clock is set back, a tree that was
 * freed at a later time refuses new tokens.
 *
 * @returns its first token; a failure of `prepare` or of `TokenTree.create`, or a 503 when no attempt succeeded.
 */
export async function startTree(
  env: TreeEnv,
  keys: Keys,
  spec: TokenSpec,
  { customId, prepare, location }: BeforeStart = {},
): Promise<Result<{ readonly token: TokenView; readonly ids: NewTokenIds }>> {
  for (let attempt = 1; attempt <= MAX_ROW_ATTEMPTS; attempt++) {
    const { treeId, ledger } = attempt < FIRST_NEW_TREE_ATTEMPT ? await allocateTree(env) : unpooledTree(env);
    const ids = await newTokenIds(keys, treeId, currentTime(), customId);
    const prepared = prepare ? await prepare({ treeId, row: ids.row }) : ok([]);
    if (!prepared.ok) return prepared;
    const create = async (again: boolean) =>
      await treeAt(env, treeId, location).create(spec, ids, ledger, prepared.value, again);
    const created = await unlessRefused(() => repeated(env.deployment, create));
    if (!created.ok) return created;
    if (created.value === "taken") continue;
    noteChange(treeId, currentTime());
    return ok({ token: created.value, ids });
  }
  return err(unavailable("the token could not be stored; try again"));
}

/** Returns a refusal of the platform as a failure. Nothing was written, so the caller can undo its earlier steps. */
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
