import {
  addressProblem,
  answerExplanation,
  answerLogin,
  EXPLAINED_ADDRESS,
  EXPLANATION_SHAPE,
  explainedAttempt,
  issueToken,
  loginAttempt,
  planToken,
} from "../../auth/login-attempt.ts";
import { loginRoute, tokenRoute } from "../../auth/route.ts";
import { AUTH, dataAnswer } from "../../auth/route-description.ts";
import { err, invalid, ok, type Result } from "../../base/result.ts";
import { anyObject, fieldSchema, text, type Values } from "../../wire/fields.ts";
import { shown } from "./claim-checks.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { CHECKS, clientOf, type Shown, verifyJwt } from "./login-checks.ts";
import { MAX_JWT_LENGTH } from "./verify.ts";

const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
});

/** `login`: a token for one that a trusted issuer has signed. */
export const LOGIN_ROUTE = loginRoute("login", {
  summary: "Gives a token in exchange for a signed token of a trusted issuer.",
  operationId: "login",
  answers: AUTH,
  input: LOGIN_FIELDS,
  handle: async (context) => {
    const attempt = loginAttempt(context, CHECKS);
    const verified = await verifyJwt(attempt, context.fields);
    const issued = verified.ok ? await issueToken(attempt, clientOf(verified.value)) : verified;
    return answerLogin(attempt, ["signature"], jwtAuthAt(context.env, attempt.mount), issued);
  },
});

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  claims: anyObject().describe("The claims of a token, in the place of one: taken as said"),
  ...EXPLAINED_ADDRESS,
});

/** `explain/login`: the checks of a login, each with its result, without a login. Makes neither a token nor an entity. */
export const EXPLAIN_LOGIN = tokenRoute("update", "explain/login", {
  summary: "Makes the checks of a login and reports each of them, without giving a token or storing anything.",
  operationId: "explain-login",
  answers: dataAnswer(EXPLANATION_SHAPE),
  input: EXPLAIN_FIELDS,
  countsAs: "login",
  prepare: async ({ fields }) => readShown(fields),
  async handle(context) {
    const attempt = explainedAttempt(context, CHECKS);
    const verified = await verifyJwt(attempt, context.prepared);
    const planned = verified.ok
      ? await planToken(attempt, clientOf(verified.value), {
          alias: shown(verified.value.identity.alias),
          policies: verified.value.role.token.policies,
        })
      : verified;
    return answerExplanation(attempt.checks.list(["entity", "token"]), planned);
  },
});

function readShown(fields: Values<typeof EXPLAIN_FIELDS>): Result<Shown> {
  const { role, jwt, claims } = fields;
  const problem = addressProblem(fields);
  if (problem) return err(invalid(problem));
  if ((jwt === "") === (claims === undefined)) return err(invalid("supply a jwt, or the claims of one"));
  if (claims === undefined) return ok({ role, jwt });
  const tooLarge = JSON.stringify(claims).length > MAX_JWT_LENGTH;
  return tooLarge ? err(invalid("the claims are too large")) : ok({ role, claims });
}
