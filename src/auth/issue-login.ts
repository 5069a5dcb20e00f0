import { currentTime } from "../base/clock.ts";
import { MAX_META_LENGTH } from "../base/limits.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { type Mount, mountIssuerOf } from "../system/mount.ts";
import { isEnded } from "../system/watermarks.ts";
import type { TokenPlan } from "../token/record.ts";
import { REVOKED_MEANWHILE } from "../token/rules/create.ts";
import { type Login, planLogin } from "../token/rules/login.ts";
import type { Reply } from "../wire/reply.ts";
import { issue, issueBelow, type ParentOfLogin } from "./issue.ts";

export type IssuedLogin = Extract<Reply, { readonly kind: "auth" }>;

/** Plans the token of a verified login. Writes nothing. */
export function planIssue(installation: Installation, mount: Mount, login: Login): Result<TokenPlan> {
  if (JSON.stringify([login.metadata, login.internal]).length > MAX_META_LENGTH) {
    return refuse("the metadata of the login is too large");
  }
  return planLogin(mount, login, installation.watermarks.newest, currentTime());
}

/**
 * Issues the token of a verified login. It is the last step of a method, so a login that fails issues nothing.
 *
 * A mount that was disabled or moved since the login began issues nothing. The token records the newest watermark that
 * was known when the login began. A later watermark therefore ends it, even one that this isolate has not read yet.
 *
 * @param parent finds the parent of the token; absent: it is an orphan.
 */
export async function issueLogin(
  env: Env,
  installation: Installation,
  mount: Mount,
  login: Login,
  parent?: ParentOfLogin,
): Promise<Result<IssuedLogin>> {
  const plan = planIssue(installation, mount, login);
  if (!plan.ok) return plan;
  const { spec, warnings } = plan.value;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return loaded;
  const mountNow = loaded.value.mountAt(mount.path);
  if (!mountNow || mountIssuerOf(mountNow) !== mountIssuerOf(mount)) return err(DENIED);
  if (isEnded(loaded.value.watermarks, "all", spec.record)) return err(REVOKED_MEANWHILE);
  const auth = await (parent ? issueBelow(env, installation, spec, parent) : issue(env, installation, spec, null, ""));
  return auth.ok ? ok({ kind: "auth", auth: auth.value, warnings }) : auth;
}
