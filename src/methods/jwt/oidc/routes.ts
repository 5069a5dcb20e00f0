import { answerLogin, answerVerified, loginAttempt } from "../../../auth/login-attempt.ts";
import { type LoginContext, loginRoute, mountOf, type Route } from "../../../auth/route.ts";
import { AUTH, dataAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { FOREIGN_PAGE } from "../../../wire/cross-site.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { text } from "../../../wire/fields.ts";
import { dataReply, type Reply } from "../../../wire/reply.ts";
import { jwtAuthAt } from "../jwt-auth.ts";
import { type BegunLogin, beginLogin } from "./begin-login.ts";
import { OIDC_CHECKS, type OidcAttempt } from "./browser-checks.ts";
import { type ProviderAnswer, verifyAnswer } from "./callback.ts";
import { askPerson, confirmLogin } from "./direct-callback.ts";
import { isPosted, takePosted } from "./form-post.ts";
import { textPage } from "./html-pages.ts";
import { type OpenedLogin, openLogin } from "./pending-login-state.ts";
import { verifyPolled } from "./poll-login.ts";

const BEGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  redirect_uri: text().describe("Where the provider sends the browser: one of the role's addresses"),
  client_nonce: text().describe("A secret of the client, which alone can go on with the login"),
});

const CALLBACK_FIELDS = fieldSchema({
  state: text().describe("The state of the login, from its address"),
  code: text().describe("The provider's code, or the secret that the browser was sent back with"),
  client_nonce: text().describe("The secret that the login was begun with"),
  iss: text().describe("The issuer that the provider names in its answer"),
  error: text().describe("The error that the provider gave in the place of a code"),
  error_description: text().describe("Not used: a text of others"),
  error_uri: text().describe("Not used: an address of others"),
  confirmation: text().describe("The secret of the page that asks a person to confirm"),
  user_code: text().describe("The code that the client shows, as the person has typed it"),
  id_token: text().describe("Not used: a token is read from the provider alone"),
});
type CallbackContext = LoginContext<Values<typeof CALLBACK_FIELDS>>;

const POLL_FIELDS = fieldSchema({
  state: text().describe("The state of the login, as its beginning gave it"),
  client_nonce: text().describe("The secret that the login was begun with"),
});

/** The interval is a string, as in the reference. */
function shownBeginning({ authUrl, poll }: BegunLogin) {
  if (!poll) return { auth_url: authUrl };
  const { state, interval, userCode } = poll;
  return {
    auth_url: authUrl,
    state,
    poll_interval: String(interval),
    ...(userCode !== undefined && { user_code: userCode }),
  };
}

/** A client whose ID token has a good signature has proved who it is. */
const PROOFS = ["signature"] as const;

function answerOf({ state, code, iss, error }: Values<typeof CALLBACK_FIELDS>): ProviderAnswer {
  return { state, code, iss, error };
}

/** Gives a token for the answer of the provider that the client brings. */
async function loginByAnswer(context: CallbackContext): Promise<Result<Reply>> {
  const { env, fields } = context;
  const attempt = loginAttempt(context, OIDC_CHECKS);
  const verified = await verifyAnswer(attempt, answerOf(fields), fields.client_nonce);
  return answerVerified(attempt, PROOFS, jwtAuthAt(env, attempt.mount), verified);
}

/** Answers a browser with a page, also a refusal: its text is the description of the check that failed. */
async function withPage(
  context: CallbackContext,
  act: (attempt: OidcAttempt) => Promise<Result<Reply>>,
): Promise<Result<Reply>> {
  const attempt = loginAttempt(context, OIDC_CHECKS);
  const answer = answerLogin(attempt, PROOFS, jwtAuthAt(context.env, attempt.mount), await act(attempt));
  if (answer.ok) return answer;
  const text = attempt.checks.failed?.description ?? "Begin again.";
  return ok(textPage(400, "The sign-in failed", `This check did not pass: ${text}`));
}

/** The login of an answer, from any client; null when there is none. */
async function pendingOf(context: CallbackContext): Promise<OpenedLogin | null> {
  const key = { state: context.fields.state, clientNonce: null };
  const found = await openLogin({ ...context, mount: mountOf(context) }, "find", key, currentTime());
  return found === "other client" ? null : found;
}

/** A browser that comes back from the provider brings no secret of a client: a login may be confirmed there. */
async function readCallback(context: CallbackContext): Promise<Result<Reply>> {
  if (context.fields.client_nonce !== "") return loginByAnswer(context);
  const found = await pendingOf(context);
  if (found?.pending.kind !== "direct") return loginByAnswer(context);
  const login = { ...found, pending: found.pending };
  return withPage(context, (attempt) => askPerson(attempt, login, answerOf(context.fields)));
}

/** The answer in a body: of a client, of the page that confirms, or of the provider (`form_post`). */
async function postCallback(context: CallbackContext): Promise<Result<Reply>> {
  const { fields, request } = context;
  const isForeign = request.sender() === "foreign page";
  const { state, confirmation, user_code: userCode } = fields;
  if (confirmation !== "" && !isForeign) {
    return withPage(context, (attempt) => confirmLogin(attempt, { state, confirmation, userCode }));
  }
  const found = confirmation === "" ? await pendingOf(context) : null;
  if (found && isPosted(found, fields)) {
    return withPage(context, (attempt) => takePosted(attempt, found, answerOf(fields)));
  }
  return isForeign ? err(FOREIGN_PAGE) : loginByAnswer(context);
}

/** The endpoints of logins through a browser. */
export const BROWSER_ROUTES: readonly Route[] = [
  loginRoute("oidc/auth_url", {
    summary: "Begins a login through a browser: answers the address to open.",
    operationId: "oidc-request-authorization-url",
    answers: dataAnswer({
      auth_url: "string",
      "state?": "string",
      "poll_interval?": "string",
      "user_code?": "string",
    }),
    isStep: true,
    input: BEGIN_FIELDS,
    async handle(context) {
      const { env, fields } = context;
      const attempt = loginAttempt(context, OIDC_CHECKS);
      const { role, redirect_uri: redirectUri, client_nonce: clientNonce } = fields;
      const begun = await beginLogin(attempt, { role, redirectUri, clientNonce });
      const answer = begun.ok ? dataReply(shownBeginning(begun.value)) : begun;
      return answerLogin(attempt, PROOFS, jwtAuthAt(env, attempt.mount), answer);
    },
  }),
  loginRoute(
    "oidc/callback",
    {
      summary: "Ends a login through a browser: gives a token for the provider's answer.",
      operationId: "oidc-callback",
      answers: AUTH,
      roleFromStep: true,
      input: CALLBACK_FIELDS,
      handle: readCallback,
    },
    "read",
  ),
  loginRoute("oidc/callback", {
    summary: "The same with the answer of the provider in the body.",
    operationId: "oidc-callback-form-post",
    answers: AUTH,
    roleFromStep: true,
    fromAnyPage: true,
    input: CALLBACK_FIELDS,
    handle: postCallback,
  }),
  loginRoute("oidc/poll", {
    summary: "Gives a token once a person has consented; 400 `authorization_pending` until then.",
    operationId: "oidc-poll",
    answers: AUTH,
    roleFromStep: true,
    input: POLL_FIELDS,
    async handle(context) {
      const { env, fields } = context;
      const attempt = loginAttempt(context, OIDC_CHECKS);
      const verified = await verifyPolled(attempt, fields.state, fields.client_nonce);
      return answerVerified(attempt, PROOFS, jwtAuthAt(env, attempt.mount), verified);
    },
  }),
];
