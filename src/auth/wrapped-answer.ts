import { currentTime, type Seconds } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { mountTtl } from "../system/mount.ts";
import type { TokenAddress } from "../token/ids.ts";
import { wrappingToken } from "../token/record.ts";
import { type CubbyholeValue, MAX_VALUE_BYTES, openValue, sealValue } from "../tree/cubbyhole.ts";
import { startTree } from "../tree/supply/start-tree.ts";
import {
  accessorInside,
  answerOfValue,
  RESPONSE_PATH,
  type StoredAnswer,
  valueOfAnswer,
  type WrapInfo,
} from "../wire/reply.ts";

/** Opens the answer that a wrapping token holds. @throws when it does not open: the storage is damaged. */
export async function openAnswer(keys: Keys, token: TokenAddress, sealed: Uint8Array): Promise<StoredAnswer> {
  return answerOfValue(await openValue(keys, token, RESPONSE_PATH, sealed));
}

/**
 * Wraps an answer: stores it, sealed, in the cubbyhole of a new single-use token. Refuses too large an answer (400).
 * `creationPath` is the path of the request, without secrets. The maximum TTL of the token mount bounds that of the
 * wrapping token: every token may wrap an answer, and the answer is stored until then.
 */
export async function wrapAnswer(
  env: Env,
  installation: Installation,
  answer: StoredAnswer,
  wantedTtl: Seconds,
  creationPath: string,
): Promise<Result<WrapInfo>> {
  const now = currentTime();
  const ttl = Math.min(wantedTtl, mountTtl(installation.mountAt("token/")).maxSeconds);
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
