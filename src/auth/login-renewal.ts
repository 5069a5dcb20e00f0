import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { issuerOf, type Mount, type MountTtl, mountTtl } from "../system/mount.ts";
import type { TokenView } from "../token/record.ts";
import type { RenewTerms } from "../token/rules/renew.ts";

/** Input of an auth method's check when a token that it issued is renewed. */
export interface LoginRenewal {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  readonly token: TokenView;
  /** Data that the method stored in the token at the login. */
  readonly internal: Readonly<Record<string, string>>;
}

/** Auth methods by their type, reduced to what requests outside of their mounts need. */
export type LoginRenewers = ReadonlyMap<string, LoginRenewer>;

/** The part of an auth method that requests outside of its mounts need. */
export interface LoginRenewer {
  /** Returns the names of the roles of a mount whose tokens get this policy. */
  rolesGiving(env: Env, mount: Mount, policy: string): Promise<readonly string[]>;
  /** Checks whether the login would still be allowed. Runs in the Worker. Returns the current terms, or a refusal. */
  renew(renewal: LoginRenewal): Promise<Result<RenewTerms>>;
}

/** The terms of a renewal, and the TTLs of the mount that limit them. */
export interface LoginTerms {
  readonly terms: RenewTerms;
  readonly mount: MountTtl;
}

/** Returns the renewal terms of the method that issued `token`. A refusal when its mount was disabled or moved. */
export async function loginTerms(
  {
    env,
    installation,
    methods,
  }: { readonly env: Env; readonly installation: Installation; readonly methods: LoginRenewers },
  token: TokenView,
): Promise<Result<LoginTerms>> {
  const mount = installation.mountServing(token.path);
  if (!token.login || !mount || issuerOf(mount) !== token.login.mount) {
    return refuse("the auth method that issued this token is disabled");
  }
  const method = methods.get(mount.type);
  if (!method) return refuse("lease is not renewable");
  const terms = await method.renew({ env, installation, mount, token, internal: token.login.internal });
  return terms.ok ? ok({ terms: terms.value, mount: mountTtl(mount) }) : terms;
}
