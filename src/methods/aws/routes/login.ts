import { mountOf } from "../../../auth/mount-of.ts";
import { type LoginContext, loginRoute, type Route } from "../../../auth/route.ts";
import { AUTH } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { ok, type Result } from "../../../base/result.ts";
import type { Reply } from "../../../wire/reply.ts";

import type { Attempt } from "../login/attempt.ts";
import { chooseKind, LOGIN_FIELDS, type LoginFields } from "../login/fields.ts";
import { loginByPrincipal } from "../login/iam.ts";
import { loginByInstance } from "../login/vm.ts";
import { UNRECORDED } from "../rules/steps.ts";
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
];

async function login(context: LoginContext<LoginFields>): Promise<Result<Reply, Failure>> {
  const { env, installation, request, fields } = context;
  const kind = chooseKind(fields);
  if (!kind.ok) return kind;
  const attempt: Attempt = {
    env,
    keys: installation.keys,
    mount: mountOf(context),
    installation,
    clientAddress: request.clientAddress,
    notes: request.notes,
    steps: UNRECORDED,
  };
  const issued = kind.value === "vm" ? await loginByInstance(attempt, fields) : await loginByPrincipal(attempt, fields);
  return issued.ok ? ok({ kind: "auth", auth: issued.value.auth, warnings: issued.value.warnings }) : issued;
}
