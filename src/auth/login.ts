import { currentTime } from "../base/clock.ts";
import { MAX_META_LENGTH } from "../base/limits.ts";
import { DENIED, err, invalid, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { issuerOf, type Mount } from "../system/mount.ts";
import { isEnded } from "../system/watermarks.ts";
import { REVOKED_MEANWHILE } from "../token/rules/create.ts";
import { type Login, type LoginPlan, planLogin } from "../token/rules/login.ts";
import type { AuthReply } from "../wire/reply.ts";
import { issue } from "./issue.ts";

/** A login that got its token. */
export interface IssuedLogin {
  readonly auth: AuthReply;
  readonly warnings: readonly string[];
}

/** Plans the token of a login that an auth method has verified, or says why there can be none. Writes nothing. */
export function planIssue(installation: Installation, mount: Mount, login: Login): Result<LoginPlan> {
  if (JSON.stringify([login.metadata, login.internal]).length > MAX_META_LENGTH) {
    return err(invalid("the metadata of the login is too large"));
  }
  return planLogin(mount, login, installation.watermarks.newest, currentTime());
}

/**
 * Gives a token to a holder that an auth method has verified: the method's last step, so that nothing is issued by one that
 * failed.
 *
 * A mount that was disabled meanwhile issues nothing. The token is made as of what was known when the login began: a watermark
 * that was made since ends it, also when this isolate has not heard of it yet.
 */
export async function issueLogin(
  env: Env,
  installation: Installation,
  mount: Mount,
  login: Login,
): Promise<Result<IssuedLogin>> {
  const plan = planIssue(installation, mount, login);
  if (!plan.ok) return plan;
  const { spec, warnings } = plan.value;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return loaded;
  const mountNow = loaded.value.mountAt(mount.path);
  if (!mountNow || issuerOf(mountNow) !== issuerOf(mount)) return err(DENIED);
  if (isEnded(loaded.value.watermarks, "all", spec.record)) return err(REVOKED_MEANWHILE);
  const auth = await issue(env, installation, spec, null, "");
  return auth.ok ? ok({ auth: auth.value, warnings }) : auth;
}
