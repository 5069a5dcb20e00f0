import { answerLogin, issueToken, loginAttempt } from "../../auth/login-attempt.ts";
import { loginRoute } from "../../auth/route.ts";
import { AUTH } from "../../auth/route-description.ts";
import { fieldSchema, text } from "../../wire/fields.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { CHECKS, clientOf, verifyJwt } from "./login-checks.ts";

const FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
});

/** `login`: a token for one that a trusted issuer has signed. */
export const LOGIN_ROUTE = loginRoute("login", {
  summary: "Gives a token in exchange for a signed token of a trusted issuer.",
  operationId: "login",
  answers: AUTH,
  input: FIELDS,
  handle: async (context) => {
    const attempt = loginAttempt(context, CHECKS);
    const verified = await verifyJwt(attempt, context.fields);
    const issued = verified.ok ? await issueToken(attempt, clientOf(verified.value)) : verified;
    return answerLogin(attempt, ["signature"], jwtAuthAt(context.env, attempt.mount), issued);
  },
});
