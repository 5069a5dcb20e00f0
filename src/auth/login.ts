import { currentTime } from "../base/clock.ts";
import { DENIED, type Failure, invalid } from "../base/errors.ts";
import { MAX_META_LENGTH } from "../base/limits.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type Installation, refreshInstallation } from "../system/installation.ts";
import { issuerOf, type Mount } from "../system/mount.ts";
import { type Login, planLogin } from "../token/rules/login.ts";
import type { AuthReply } from "../wire/reply.ts";
import { issue } from "./issue.ts";

/** A login that got its token. */
export interface IssuedLogin {
  readonly auth: AuthReply;
  readonly warnings: readonly string[];
}

/**
 * Gives a token to a holder that an auth method has verified: the method's last step, so that nothing is issued by one that
 * failed.
 *
 * A mount that was disabled meanwhile issues nothing, whatever this isolate believes: a service token is refused where
 * every creation is listed; for a batch token, which is stored nowhere, the system is asked.
 */
export async function issueLogin(
  env: Env,
  installation: Installation,
  mount: Mount,
  login: Login,
): Promise<Result<IssuedLogin, Failure>> {
  if (JSON.stringify([login.metadata, login.internal]).length > MAX_META_LENGTH) {
    return err(invalid("the metadata of the login is too large"));
  }
  const plan = planLogin(mount, login, currentTime());
  if (!plan.ok) return plan;
  const { spec, warnings } = plan.value;
  if (spec.type === "batch") {
    const refreshed = await refreshInstallation(env);
    if (!refreshed.ok) return refreshed;
    const now = refreshed.value.mountAt(mount.path);
    if (!now || issuerOf(now) !== issuerOf(mount)) return err(DENIED);
  }
  const auth = await issue(env, installation, spec, null, "");
  return auth.ok ? ok({ auth: auth.value, warnings }) : auth;
}
