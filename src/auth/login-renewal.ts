import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { issuerOf, type Mount, type MountTtl, mountTtl } from "../system/mount.ts";
import type { TokenView } from "../token/record.ts";
import type { RenewTerms } from "../token/rules/renew.ts";

/** The check of an auth method when a token that it issued is renewed. */
export interface LoginRenewal {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  readonly token: TokenView;
  /** What the method kept in the token at the login. */
  readonly internal: Readonly<Record<string, string>>;
}

/** Auth methods by their type, as far as requests at any path need them. */
export type LoginRenewers = ReadonlyMap<string, LoginRenewer>;

export interface LoginRenewer {
  /** Names of the roles of a mount that give tokens this policy. */
  rolesGiving(env: Env, mount: Mount, policy: string): Promise<readonly string[]>;
  /** Checks whether the login would still be allowed. Runs in the Worker. Returns the current terms, or the refusal. */
  renew(renewal: LoginRenewal): Promise<Result<RenewTerms>>;
}

/** The terms of a renewal and the lifetimes of the mount that they stand under. */
export interface LoginTerms {
  readonly terms: RenewTerms;
  readonly mount: MountTtl;
}

/** Asks the method that issued `token` for the terms of a renewal. */
export async function loginTerms(
  {
    env,
    installation,
    methods,
  }: { readonly env: Env; readonly installation: Installation; readonly methods: LoginRenewers },
  token: TokenView,
): Promise<Result<LoginTerms>> {
  const mount = installation.mountServing(token.path.slice("auth/".length));
  if (!token.login || !mount || issuerOf(mount) !== token.login.mount) {
    return refuse("the auth method that issued this token is disabled");
  }
  const method = methods.get(mount.type);
  if (!method) return refuse("lease is not renewable");
  const terms = await method.renew({ env, installation, mount, token, internal: token.login.internal });
  return terms.ok ? ok({ terms: terms.value, mount: mountTtl(mount) }) : terms;
}
