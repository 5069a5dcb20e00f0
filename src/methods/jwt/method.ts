import type { LoginRenewal } from "../../auth/login-renewal.ts";
import type { AuthMethod } from "../../auth/method.ts";
import { err, invalid, ok, type Result } from "../../base/result.ts";
import type { RenewTerms } from "../../token/rules/renew.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { JWT_ROUTES } from "./routes.ts";

/** Logins by a token that another issuer has signed: CI jobs, service accounts of Kubernetes, access proxies. */
export const JWT_METHOD: AuthMethod = {
  type: "jwt",
  routes: JWT_ROUTES,
  renew: renewJwtLogin,
  rolesGiving: (env, mount, policy) => jwtAuthAt(env, mount).rolesGiving(policy),
  erase: (env, mount) => jwtAuthAt(env, mount).erase(),
};

/** A token is renewed while its role is there, on the terms that the role has today. */
async function renewJwtLogin({ env, mount, token, internal }: LoginRenewal): Promise<Result<RenewTerms>> {
  const roleName = internal.role ?? "";
  const role = await jwtAuthAt(env, mount).readRole(roleName);
  if (!role) return err(invalid(`role ${roleName} does not exist during renewal`));
  const { ttl, maxTtl, period } = role.token;
  return ok({ period, ttl, maxTtl, explicitMaxTtl: token.explicitMaxTtl });
}
