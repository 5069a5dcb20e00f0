import type { IssuedLogin } from "../../../auth/login.ts";
import { answerLogin, loginAttempt } from "../../../auth/login-attempt.ts";
import { refusedRoute } from "../../../auth/refused/route.ts";
import { loginRoute, type Route } from "../../../auth/route.ts";
import { AUTH } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import type { Attempt } from "../login/attempt.ts";
import { chooseKind, LOGIN_FIELDS, type LoginFields } from "../login/fields.ts";
import { loginByPrincipal } from "../login/iam.ts";
import { loginByInstance } from "../login/vm.ts";
import { cloudAuthAt, mountTypeOf } from "../mount/mount.ts";
import { CHECKS } from "../rules/checks.ts";
import { translateFieldName } from "../vocabulary.ts";
import { EXPLAIN_LOGIN } from "./explain.ts";

/** `login`: a token for an instance or a principal of the cloud that proves its identity. `explain/login`: the checks, one by one. */
export const LOGIN_ROUTES: readonly Route[] = [
  loginRoute("login", {
    summary: "Gives a token to an instance or a principal of the cloud that proves its identity.",
    operationId: "login",
    answers: AUTH,
    input: LOGIN_FIELDS,
    handle: async (context) => {
      const attempt = loginAttempt(context, CHECKS);
      const issued = await logIn(attempt, context.fields);
      return answerLogin(attempt, ["document", "caller"], cloudAuthAt(context.env, attempt.mount), issued);
    },
  }),
  EXPLAIN_LOGIN,
  refusedRoute(cloudAuthAt, (mount, check) => translateFieldName(mountTypeOf(mount), check)),
];

async function logIn(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin, Failure>> {
  const kind = attempt.checks.record("request", {}, chooseKind(fields));
  if (!kind.ok) return kind;
  return kind.value === "vm" ? loginByInstance(attempt, fields) : loginByPrincipal(attempt, fields);
}
