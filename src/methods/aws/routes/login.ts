import type { IssuedLogin } from "../../../auth/login.ts";
import { mountOf } from "../../../auth/mount-of.ts";
import { noteRefusal } from "../../../auth/refused/report.ts";
import { refusedRoute } from "../../../auth/refused/route.ts";
import { type LoginContext, loginRoute, type Route } from "../../../auth/route.ts";
import { AUTH } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { Mount } from "../../../system/mount.ts";
import type { Reply } from "../../../wire/reply.ts";

import type { Attempt } from "../login/attempt.ts";
import { chooseKind, LOGIN_FIELDS, type LoginFields } from "../login/fields.ts";
import { loginByPrincipal } from "../login/iam.ts";
import { loginByInstance } from "../login/vm.ts";
import { cloudAuthAt, mountTypeOf } from "../mount/mount.ts";
import { LastFailure, type LoginSteps, wordsOf } from "../rules/steps.ts";
import { translateFieldName } from "../vocabulary.ts";
import { EXPLAIN_LOGIN } from "./explain.ts";

/** `login`: a token for an instance or a principal of the cloud that proves its identity. `explain/login`: the checks, one by one. */
export const LOGIN_ROUTES: readonly Route[] = [
  loginRoute(
    "login",
    {
      summary: "Gives a token to an instance or a principal of the cloud that proves its identity.",
      operationId: "login",
      answers: AUTH,
    },
    LOGIN_FIELDS,
    login,
  ),
  EXPLAIN_LOGIN,
  refusedRoute(cloudAuthAt, (mount, check) => translateFieldName(mountTypeOf(mount), check)),
];

async function login(context: LoginContext<LoginFields>): Promise<Result<Reply, Failure>> {
  const { env, request } = context;
  const mount = mountOf(context);
  const steps = new LastFailure();
  const issued = await logIn(context, mount, steps);
  if (issued.ok) return ok({ kind: "auth", auth: issued.value.auth, warnings: issued.value.warnings });
  const check = steps.failed;
  const proven = request.notes.principal !== undefined;
  noteRefusal(request, mount, cloudAuthAt(env, mount), { check, description: wordsOf(check), proven });
  return issued;
}

async function logIn(
  { env, installation, request, fields }: LoginContext<LoginFields>,
  mount: Mount,
  steps: LoginSteps,
): Promise<Result<IssuedLogin, Failure>> {
  const kind = steps.record("request", {}, chooseKind(fields));
  if (!kind.ok) return kind;
  const attempt: Attempt = {
    env,
    keys: installation.keys,
    mount,
    installation,
    clientAddress: request.clientAddress,
    notes: request.notes,
    steps,
  };
  return kind.value === "vm" ? loginByInstance(attempt, fields) : loginByPrincipal(attempt, fields);
}
