import { answerLogin, issueToken, loginAttempt } from "../../../auth/login-attempt.ts";
import { type LoginContext, loginRoute, type Route } from "../../../auth/route.ts";
import { AUTH, dataAnswer } from "../../../auth/route-description.ts";
import type { Result } from "../../../base/result.ts";
import { fieldSchema, text, type Values } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { jwtAuthAt } from "../jwt-auth.ts";
import { beginLogin } from "./begin.ts";
import { type ProviderAnswer, verifyAnswer } from "./callback.ts";
import { OIDC_CHECKS } from "./checks.ts";

const BEGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  redirect_uri: text().describe("Where the provider sends the browser back to: one of the role's addresses"),
  client_nonce: text().describe("A secret of the client, by which it alone can go on with the login"),
});

const CALLBACK_FIELDS = fieldSchema({
  state: text().describe("The state of the login, from its address"),
  code: text().describe("The code that the provider gave"),
  client_nonce: text().describe("The secret that the login was begun with"),
  iss: text().describe("The issuer that the provider names in its answer"),
  error: text().describe("The error that the provider gave in the place of a code"),
  error_description: text().describe("Not used: a text of others"),
  error_uri: text().describe("Not used: an address of others"),
  id_token: text().describe("Not used: a token is read from the provider alone"),
});
type CallbackContext = LoginContext<Values<typeof CALLBACK_FIELDS>>;

/** A client whose ID token has a good signature has proved who it is. */
const PROOFS = ["signature"] as const;

function answerOf({ state, code, iss, error }: Values<typeof CALLBACK_FIELDS>): ProviderAnswer {
  return { state, code, iss, error };
}

/** Gives a token for the answer of the provider that the client brings. */
async function complete(context: CallbackContext): Promise<Result<Reply>> {
  const { env, fields } = context;
  const attempt = loginAttempt(context, OIDC_CHECKS);
  const verified = await verifyAnswer(attempt, answerOf(fields), fields.client_nonce);
  const issued = verified.ok ? await issueToken(attempt, verified.value) : verified;
  return answerLogin(attempt, PROOFS, jwtAuthAt(env, attempt.mount), issued);
}

/** The endpoints of logins through a browser. */
export const BROWSER_ROUTES: readonly Route[] = [
  loginRoute("oidc/auth_url", {
    summary: "Begins a login through a browser: answers the address where a person signs in.",
    operationId: "oidc-request-authorization-url",
    answers: dataAnswer({ auth_url: "string" }),
    isStep: true,
    input: BEGIN_FIELDS,
    async handle(context) {
      const { env, fields } = context;
      const attempt = loginAttempt(context, OIDC_CHECKS);
      const { role, redirect_uri: redirectUri, client_nonce: clientNonce } = fields;
      const begun = await beginLogin(attempt, { role, redirectUri, clientNonce });
      const answer = begun.ok ? dataReply({ auth_url: begun.value.authUrl }) : begun;
      return answerLogin(attempt, PROOFS, jwtAuthAt(env, attempt.mount), answer);
    },
  }),
  loginRoute(
    "oidc/callback",
    {
      summary: "Ends a login through a browser: gives a token for the answer of the provider.",
      operationId: "oidc-callback",
      answers: AUTH,
      roleFromStep: true,
      input: CALLBACK_FIELDS,
      handle: complete,
    },
    "read",
  ),
  loginRoute("oidc/callback", {
    summary: "The same with the answer of the provider in the body.",
    operationId: "oidc-callback-form-post",
    answers: AUTH,
    roleFromStep: true,
    input: CALLBACK_FIELDS,
    handle: complete,
  }),
];
