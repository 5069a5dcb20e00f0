import {
  addressProblem,
  answerExplanation,
  answerLogin,
  type Check,
  EXPLAINED_ADDRESS,
  EXPLANATION_SHAPE,
  explainedAttempt,
  type IssuedLogin,
  loginAttempt,
  planToken,
} from "../../../auth/login-attempt.ts";
import { refusedRoute } from "../../../auth/refused-logins.ts";
import { type CallContext, loginRoute, type Route, tokenRoute } from "../../../auth/route.ts";
import { AUTH, dataAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, sent, text, type Values } from "../../../wire/fields.ts";
import type { Reply } from "../../../wire/reply.ts";
import { parsePrincipalArn } from "../arn.ts";
import { type IdentityDocument, MAX_DOCUMENT_BYTES, parseIdentityDocument } from "../documents/verify.ts";
import { fromWrappedBase64 } from "../encoding.ts";
import { type Attempt, CHECKS, checksOf, chooseKind, LOGIN_FIELDS, type LoginFields } from "../login/attempt.ts";
import { loginByPrincipal, type ProvenCaller, verifyPrincipal } from "../login/iam.ts";
import { loginByInstance, verifyInstance } from "../login/vm.ts";
import { accessShardFor, cloudAuthAt, configurationForLogin } from "../mount/mount.ts";
import { INSTANCE_ENTITY } from "../rules/role.ts";
import { translateFieldName, translateKind, translateMessage } from "../vocabulary.ts";

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  identity: sent(text()).describe(
    "The identity document of the instance, as base64 or as JSON; it needs no signature here",
  ),
  arn: sent(text()).describe("The ARN of a user, a role or an assumed role, instead of a signed request"),
  ...EXPLAINED_ADDRESS,
});
type Fields = Values<typeof EXPLAIN_FIELDS>;

/** The login to explain: its kind, and the claimed identity; null when the fields prove it. */
type Explained =
  | { readonly kind: "vm"; readonly claim: IdentityDocument | null }
  | { readonly kind: "iam"; readonly claim: ProvenCaller | null };

const EXPLAIN_LOGIN = tokenRoute("update", "explain/login", {
  summary: "Makes the checks of a login and reports each of them, without giving a token or storing anything.",
  operationId: "explain-login",
  answers: dataAnswer({ auth_type: "string", ...EXPLANATION_SHAPE }),
  input: EXPLAIN_FIELDS,
  countsAs: "login",
  prepare: async ({ fields }) => readExplained(fields),
  handle: explain,
});

/** Reads the login to explain. A proof is verified as at a login. An ARN or a document without signature is a claim. */
function readExplained(fields: Fields): Result<Explained> {
  const problem = addressProblem(fields);
  if (problem) return refuse(problem);
  if (fields.arn !== undefined) return readClaimedCaller(fields);
  if (fields.identity !== undefined && fields.signature === undefined && fields.pkcs7 === undefined) {
    const document = readClaimedDocument(fields.identity);
    return document.ok ? ok({ kind: "vm", claim: document.value }) : document;
  }
  const kind = chooseKind(fields);
  return kind.ok ? ok({ kind: kind.value, claim: null }) : kind;
}

function readClaimedCaller(fields: Fields): Result<Explained> {
  const others = [fields.identity, fields.signature, fields.pkcs7, fields.iam_http_request_method];
  if (others.some((field) => field !== undefined)) return refuse("supply an arn or a proof, not both");
  const principal = parsePrincipalArn(fields.arn ?? "");
  if (!principal.ok) return refuse(`error parsing arn: ${principal.error}`);
  if (principal.value.type === "instance-profile") return refuse("error parsing arn: unrecognized principal type");
  const { accountId } = principal.value;
  const claim = { principal: principal.value, accountId, userId: "", uniqueId: "", signature: null };
  return ok({ kind: "iam", claim });
}

function readClaimedDocument(sentDocument: string): Result<IdentityDocument> {
  if (sentDocument.length > 2 * MAX_DOCUMENT_BYTES) return refuse("instance identity document is too large");
  const isJson = sentDocument.trimStart().startsWith("{");
  const bytes = isJson ? new TextEncoder().encode(sentDocument) : fromWrappedBase64(sentDocument);
  return bytes ? parseIdentityDocument(bytes) : refuse("failed to base64 decode the instance identity document");
}

async function explain(context: CallContext<Fields, Explained>): Promise<Result<Reply>> {
  const { fields, prepared } = context;
  const attempt = explainedAttempt(context, CHECKS);
  const client = await (prepared.kind === "iam"
    ? explainPrincipal(attempt, fields, prepared.claim)
    : explainInstance(attempt, fields, prepared.claim));
  if (!client.ok && client.error.code === "rate_limited") return client;
  const planned = client.ok ? await planToken(attempt, client.value, { alias: client.value.alias.name }) : client;
  const order = checksOf(prepared.kind, prepared.kind === "iam" && (await infersInstance(attempt)));
  const checks = attempt.checks.list(order).map((check) => translateCheck(attempt.mount.type, check));
  return answerExplanation(checks, planned, { auth_type: prepared.kind });
}

async function explainPrincipal(attempt: Attempt, fields: Fields, claim: ProvenCaller | null) {
  const verified = await verifyPrincipal(attempt, fields, claim);
  return verified.ok ? ok(verified.value.client) : verified;
}

async function explainInstance(attempt: Attempt, fields: Fields, claim: IdentityDocument | null) {
  const verified = await verifyInstance(attempt, fields, claim);
  if (!verified.ok) return verified;
  const { document, entry, client } = verified.value;
  const { list } = accessShardFor(attempt.env, attempt.mount, document.instanceId);
  const judged = await list.judgeLogin(document.instanceId, entry, currentTime());
  const admitted = attempt.checks.record<null>("access_list", { actual: document.instanceId }, judged);
  return admitted.ok ? ok(client) : admitted;
}

async function infersInstance(attempt: Attempt): Promise<boolean> {
  const { role } = await configurationForLogin(attempt, attempt.notes.role ?? null, null);
  return role?.inferredEntityType === INSTANCE_ENTITY;
}

function translateCheck(type: string, check: Check): Check {
  const { name, bound, actual, message } = check;
  const words = (value: string) => (name === "auth_type" ? translateKind(type, value) : value);
  return {
    ...check,
    name: translateFieldName(type, name),
    bound: bound.map(words),
    actual: actual && words(actual),
    message: message && translateMessage(type, message),
  };
}

export const CLOUD_LOGIN_ROUTES: readonly Route[] = [
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
  refusedRoute(cloudAuthAt, (mount, check) => translateFieldName(mount.type, check)),
];

async function logIn(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin>> {
  const kind = attempt.checks.record("request", {}, chooseKind(fields));
  if (!kind.ok) return kind;
  return kind.value === "vm" ? loginByInstance(attempt, fields) : loginByPrincipal(attempt, fields);
}
