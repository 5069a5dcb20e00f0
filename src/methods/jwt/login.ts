import { type IssuedLogin, issueLogin } from "../../auth/login.ts";
import { mountOf } from "../../auth/mount-of.ts";
import { type FailedCheck, noteRefusal } from "../../auth/refused/report.ts";
import { type LoginContext, loginRoute } from "../../auth/route.ts";
import { AUTH } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { entityForLogin } from "../../identity/login.ts";
import type { Mount } from "../../system/mount.ts";
import { fieldSchema, text, type Values } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import type { Check } from "./claim-checks.ts";
import { aliasOf, tokenOf } from "./issue.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { checked, type JwtAttempt, loginChecks, type VerifiedJwt } from "./login-checks.ts";

const FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
});
type Fields = Values<typeof FIELDS>;

/** `login`: a token for one that a trusted issuer has signed. */
export const LOGIN_ROUTE = loginRoute(
  "login",
  {
    summary: "Gives a token in exchange for a signed token of a trusted issuer.",
    operationId: "login",
    answers: AUTH,
  },
  FIELDS,
  login,
);

async function login(context: LoginContext<Fields>): Promise<Result<Reply, Failure>> {
  const { env, request } = context;
  const mount = mountOf(context);
  const issued = await logIn(context, mount);
  if (issued.ok) return ok({ kind: "auth", auth: issued.value.auth, warnings: issued.value.warnings });
  const { check, failure } = issued.error;
  noteRefusal(request, mount, jwtAuthAt(env, mount), check);
  return err(failure);
}

/** Why a login is refused. */
interface Refused {
  readonly check: FailedCheck;
  readonly failure: Failure;
}

async function logIn(
  { env, installation, request, fields }: LoginContext<Fields>,
  mount: Mount,
): Promise<Result<IssuedLogin, Refused>> {
  const { clientAddress, notes } = request;
  const verified = await verify({ env, mount, clientAddress, notes }, fields);
  if (!verified.ok) return verified;
  const entity = await entityForLogin(env, aliasOf(mount, verified.value));
  if (!entity.ok) return err(refused(checked("entity", [], null, entity), entity.error, true));
  const token = tokenOf(verified.value, entity.value.entity.id);
  const issued = await issueLogin(env, installation, mount, token);
  return issued.ok ? issued : err(refused(checked("token", [], null, issued), issued.error, true));
}

/** Makes the checks of a login until one fails. */
async function verify(attempt: JwtAttempt, { role, jwt }: Fields): Promise<Result<VerifiedJwt, Refused>> {
  const checks = loginChecks(attempt, role.toLowerCase(), { jwt });
  let proven = false;
  for (;;) {
    const { done, value } = await checks.next();
    if (done) {
      if (!value) throw new Error("a login that is refused has a check that failed");
      return ok(value);
    }
    if (value.failure) return err(refused(value, value.failure, proven));
    proven ||= value.name === "signature";
  }
}

function refused({ name, description }: Check, failure: Failure, proven: boolean): Refused {
  return { check: { check: name, description, proven }, failure };
}
