import type { AuthMethod } from "../../auth/method.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { renewJwtLogin } from "./renewal.ts";
import { JWT_ROUTES } from "./routes.ts";

/** Logins by a token that another issuer has signed: CI jobs, service accounts of Kubernetes, access proxies. */
export const JWT_METHOD: AuthMethod = {
  type: "jwt",
  routes: JWT_ROUTES,
  renew: renewJwtLogin,
  rolesGiving: (env, mount, policy) => jwtAuthAt(env, mount).rolesGiving(policy),
  erase: (env, mount) => jwtAuthAt(env, mount).erase(),
};
