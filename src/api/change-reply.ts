import type { Answered } from "../auth/route.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { untilInEffect } from "../system/in-effect.ts";
import { refreshInstallation } from "../system/installation.ts";
import { EMPTY, type Reply } from "../wire/reply.ts";

/** Answers a change of the installation, after this isolate has read the installation again. */
export async function changedReply(env: Env, change: Result<unknown>, reply: Reply = EMPTY): Answered {
  if (!change.ok) return change;
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok(reply) : refreshed;
}

/**
 * Answers a change that ends tokens, when no isolate accepts them any more. The change is stored before the wait, so a
 * client that leaves meanwhile loses only the answer. A repeated call waits again.
 */
export async function endedReply(env: Env, end: Result<unknown>, reply: Reply = EMPTY): Answered {
  const changed = await changedReply(env, end, reply);
  if (changed.ok) await untilInEffect(env);
  return changed;
}
