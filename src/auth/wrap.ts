import { currentTime } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import type { TokenAddress } from "../token/ids.ts";
import { wrappingToken } from "../token/record.ts";
import { type CubbyholeValue, MAX_VALUE_BYTES, sealValue } from "../tree/cubbyhole.ts";
import { startTree } from "../tree/supply/start-tree.ts";
import { accessorInside, RESPONSE_PATH, type StoredAnswer, valueOfAnswer, type WrapInfo } from "../wire/reply.ts";

/**
 * Wraps an answer: stores it, sealed, in the cubbyhole of a new single-use token. Refuses one that is too large (400).
 * @param ttl seconds.
 * @param creationPath the path of the request, without secrets.
 */
export async function wrapAnswer(
  env: Env,
  installation: Installation,
  answer: StoredAnswer,
  ttl: number,
  creationPath: string,
): Promise<Result<WrapInfo>> {
  const now = currentTime();
  const spec = wrappingToken(creationPath, ttl, installation.watermarks.newest, now);
  const prepare = async (owner: TokenAddress): Promise<Result<readonly CubbyholeValue[]>> => {
    const sealed = await sealValue(installation.keys, owner, RESPONSE_PATH, valueOfAnswer(answer));
    if (sealed.length > MAX_VALUE_BYTES) return refuse("the answer is too large to be wrapped");
    return ok([{ path: RESPONSE_PATH, sealed }]);
  };
  const started = await startTree(env, installation.keys, spec, { prepare });
  if (!started.ok) return started;
  const { ids } = started.value;
  return ok({
    token: ids.token,
    accessor: ids.accessor,
    ttl,
    createdAt: now,
    creationPath,
    wrappedAccessor: accessorInside(answer),
  });
}
