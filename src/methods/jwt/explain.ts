import { planIssue } from "../../auth/login.ts";
import {
  CHECKS_SHAPE,
  failureText,
  PLANNED_TOKEN_SHAPE,
  type PlannedToken,
  renderPlannedToken,
} from "../../auth/login-explanation.ts";
import { mountOf } from "../../auth/mount-of.ts";
import { type CallContext, tokenRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { findEntityForLogin } from "../../identity/login.ts";
import { anyObject, fieldSchema, sent, text, type Values } from "../../wire/fields.ts";
import { dataReply, type Reply } from "../../wire/reply.ts";
import type { Check } from "./claim-checks.ts";
import { aliasOf, tokenOf } from "./issue.ts";
import { checked, type LoginCheck, loginChecks, type Shown, type VerifiedJwt } from "./login-checks.ts";
import { MAX_JWT_LENGTH } from "./verify.ts";

const FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
  claims: anyObject().describe("The claims of a token, in the place of one: taken as said"),
  client_address: sent(text()).describe("The address that the login comes from; that of this request unless sent"),
});
type Fields = Values<typeof FIELDS>;

/** Longest text of an IP address. */
const MAX_ADDRESS_LENGTH = 64;

/** `explain/login`: the checks of a login, each with its result, without a login. Makes neither a token nor an entity. */
export const EXPLAIN_LOGIN = tokenRoute(
  "update",
  "explain/login",
  {
    summary: "Makes the checks of a login and reports each of them, without giving a token or storing anything.",
    operationId: "explain-login",
    answers: dataAnswer({ allowed: "boolean", checks: CHECKS_SHAPE, "token?": PLANNED_TOKEN_SHAPE }),
  },
  FIELDS,
  { countsAs: "login", prepare: async ({ fields }) => readShown(fields), handle: explain },
);

function readShown({ jwt, claims, client_address: address = "" }: Fields): Result<Shown, Failure> {
  if (address.length > MAX_ADDRESS_LENGTH) return err(invalid("client_address is no address"));
  if ((jwt === "") === (claims === undefined)) return err(invalid("supply a jwt, or the claims of one"));
  if (claims === undefined) return ok({ jwt });
  return JSON.stringify(claims).length > MAX_JWT_LENGTH ? err(invalid("the claims are too large")) : ok({ claims });
}

async function explain(context: CallContext<Fields, Shown>): Promise<Result<Reply, Failure>> {
  const { env, request, fields, prepared } = context;
  const mount = mountOf(context);
  const clientAddress = fields.client_address ?? request.clientAddress;
  // The audit log notes proven identities. Here another caller asks about one.
  const attempt = { env, mount, clientAddress, notes: {} };
  const made: Check[] = [];
  const checks = loginChecks(attempt, fields.role.toLowerCase(), prepared);
  let next = await checks.next();
  for (; !next.done; next = await checks.next()) made.push(next.value);
  const planned = await planOf(context, next.value, made);
  const data = {
    allowed: planned !== null,
    checks: made.map(renderCheck),
    ...(planned && { token: planned.token }),
  };
  return ok(dataReply(data, planned?.warnings));
}

/** The token of a verified login; null for one that is refused. Adds the last checks to those that were made. */
async function planOf(
  context: CallContext<Fields, Shown>,
  verified: VerifiedJwt | null,
  made: Check[],
): Promise<PlannedToken | null> {
  if (!verified) {
    made.push(...(["entity", "token"] as const).map(notReached));
    return null;
  }
  const { env, installation } = context;
  const mount = mountOf(context);
  const found = await findEntityForLogin(env, aliasOf(mount, verified));
  made.push(checked("entity", [], verified.identity.alias, found));
  if (!found.ok) {
    made.push(notReached("token"));
    return null;
  }
  const { id, policies } = found.value;
  const plan = planIssue(installation, mount, tokenOf(verified, id ?? ""));
  made.push(checked("token", verified.role.token.policies, null, plan));
  return plan.ok ? renderPlannedToken(installation, plan.value, policies) : null;
}

function notReached(name: LoginCheck): Check {
  return { ...checked(name, [], null, ok(null)), unmade: "not_reached" };
}

function renderCheck({ name, description, bound, actual, failure, unmade }: Check): Record<string, unknown> {
  const outcome = unmade ?? (failure ? "failed" : "passed");
  return { name, description, outcome, bound, actual, message: failure && failureText(failure) };
}
