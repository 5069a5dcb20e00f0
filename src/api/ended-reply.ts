import type { Failure } from "../base/errors.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { refreshInstallation } from "../system/installation.ts";
import { stalenessWarnings } from "../system/snapshot-age.ts";
import type { Reply } from "../wire/reply.ts";

/** The answer after tokens were ended by a watermark, which this isolate knows from here on. */
export async function endedReply(env: Env): Promise<Result<Reply, Failure>> {
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok({ kind: "empty", warnings: stalenessWarnings(env) }) : refreshed;
}
