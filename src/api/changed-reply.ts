import type { Answered } from "../auth/route.ts";
import { ok } from "../base/result.ts";
import type { Env } from "../env.ts";
import { stalenessWarnings } from "../system/copy-age.ts";
import { refreshInstallation } from "../system/installation.ts";
import { EMPTY, type Reply } from "../wire/reply.ts";

/** `reply` after a change of the installation, which this isolate knows from here on. */
export async function changedReply(env: Env, reply: Reply = EMPTY): Answered {
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok(reply) : refreshed;
}

/** The answer after tokens were ended by a watermark; it warns that other isolates learn of it later. */
export function endedReply(env: Env): Answered {
  return changedReply(env, { kind: "empty", warnings: stalenessWarnings(env) });
}
