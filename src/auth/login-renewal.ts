import { type Failure, invalid } from "../base/errors.ts";
import { err, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { issuerOf, type Mount, type MountTtl, mountTtl } from "../system/mount.ts";
import type { TokenView } from "../token/record.ts";
import type { RenewTerms } from "../token/rules/renew.ts";

/** What an auth method is asked when a token that it issued shall be renewed. */
export interface LoginRenewal {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  readonly token: TokenView;
  /** What the method kept in the token at the login. */
  readonly internal: Readonly<Record<string, string>>;
}

/** Checks whether the holder of a token may still have it. Runs in the Worker. Returns today's terms, or why not. */
export type RenewLogin = (renewal: LoginRenewal) => Promise<Result<RenewTerms, Failure>>;

/** The check of each type of auth mount. */
export const LOGIN_RENEWALS = new Map<string, RenewLogin>();

/** The terms of a renewal and the lifetimes of the mount that they stand under. */
export interface LoginTerms {
  readonly terms: RenewTerms;
  readonly mount: MountTtl;
}

/** Asks the method that issued `token` for the terms of a renewal. */
export async function loginTerms(
  env: Env,
  installation: Installation,
  token: TokenView,
): Promise<Result<LoginTerms, Failure>> {
  const mount = installation.mountServing(token.path.slice("auth/".length));
  if (!token.login || !mount || issuerOf(mount) !== token.login.mount) {
    return err(invalid("the auth method that issued this token is disabled"));
  }
  const renewLogin = LOGIN_RENEWALS.get(mount.type);
  if (!renewLogin) return err(invalid("lease is not renewable"));
  const terms = await renewLogin({ env, installation, mount, token, internal: token.login.internal });
  return terms.ok ? { ok: true, value: { terms: terms.value, mount: mountTtl(mount) } } : terms;
}
