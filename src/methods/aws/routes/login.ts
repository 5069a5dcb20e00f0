import {
  addressProblem,
  answerExplanation,
  answerLogin,
  type Check,
  EXPLAINED_ADDRESS,
  EXPLANATION_SHAPE,
  explainedAttempt,
  loginAttempt,
  planToken,
} from "../../../auth/login-attempt.ts";
import { refusedRoute } from "../../../auth/refused-logins.ts";
import { type CallContext, loginRoute, type Route, tokenRoute } from "../../../auth/route.ts";
import { AUTH, dataAnswer } from "../../../auth/route-description.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { sent, text } from "../../../wire/fields.ts";
import type { Reply } from "../../../wire/reply.ts";
import { parsePrincipalArn } from "../arn.ts";
import { type IdentityDocument, MAX_DOCUMENT_BYTES, parseIdentityDocument } from "../documents/identity-document.ts";
import { fromWrappedBase64 } from "../encoding.ts";
import { CHECKS } from "../login/check-list.ts";
import { checkNames, IAM_ORDER, VM_ORDER } from "../login/check-order.ts";
import { chooseKind, LOGIN_FIELDS } from "../login/fields.ts";
import type { ProvenCaller } from "../login/iam.ts";
import { logIn } from "../login/log-in.ts";
import { cloudAuthAt, configurationForLogin } from "../mount/mount-config.ts";
import { translateFieldName, translateKind, translateMessage } from "../vocabulary.ts";

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  identity: sent(text()).describe("The identity document of the instance, as base64 or JSON; needs no signature"),
  arn: sent(text()).describe("ARN of a user or (assumed) role, instead of a signed request"),
  ...EXPLAINED_ADDRESS,
});
type Fields = Values<typeof EXPLAIN_FIELDS>;

/** The login to explain: its kind, and the claimed identity; null when the fields prove it. */
type Explained =
  | { readonly kind: "vm"; readonly claim: IdentityDocument | null }
  | { readonly kind: "iam"; readonly claim: ProvenCaller | null };

const EXPLAIN_LOGIN = tokenRoute("update", "explain/login", {
  summary: "Reports the checks of a login; gives no token and stores nothing.",
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

/** The forms that the ARN of a principal can have. */
const ARN_FORMS =
  "One has the form arn:aws:iam::123456789012:role/NAME, arn:aws:iam::123456789012:user/NAME or, of a session, arn:aws:sts::123456789012:assumed-role/ROLE/SESSION";

function noPrincipal(why: string): Result<never> {
  return refuse(`this is not the ARN of a principal (${why}). ${ARN_FORMS}`);
}

function readClaimedCaller(fields: Fields): Result<Explained> {
  const others = [fields.identity, fields.signature, fields.pkcs7, fields.iam_http_request_method];
  if (others.some((field) => field !== undefined)) return refuse("supply an arn or a proof, not both");
  const principal = parsePrincipalArn(fields.arn ?? "");
  if (!principal.ok) return noPrincipal(principal.error);
  if (principal.value.type === "instance-profile") return noPrincipal("it is that of an instance profile");
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
  const begun = { attempt, fields, isDryRun: true };
  const checked = await (prepared.kind === "vm"
    ? VM_ORDER.run({ ...begun, ...prepared })
    : IAM_ORDER.run({ ...begun, ...prepared }));
  if (!checked.ok && checked.error.code === "rate_limited") return checked;
  const client = checked.ok ? ok(checked.value.client) : checked;
  const planned = client.ok ? await planToken(attempt, client.value, { alias: client.value.alias.name }) : client;
  const { role } = await configurationForLogin(attempt, attempt.notes.role ?? null, null);
  const checks = attempt.checks
    .list(checkNames(prepared.kind, role))
    .map((check) => translateCheck(attempt.mount.type, check));
  return answerExplanation(checks, planned, { auth_type: prepared.kind });
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
    summary: "Gives a token to an instance or a principal of the cloud.",
    operationId: "login",
    answers: AUTH,
    input: LOGIN_FIELDS,
    handle: async (context) => {
      const attempt = loginAttempt(context, CHECKS);
      const issued = await logIn(attempt, context.fields);
      const stub = cloudAuthAt(context.env, attempt.mount);
      const nameOf = (check: string) => translateFieldName(attempt.mount.type, check);
      return answerLogin(attempt, ["document", "caller"], stub, issued, nameOf);
    },
  }),
  EXPLAIN_LOGIN,
  refusedRoute(cloudAuthAt, (mount, check) => translateFieldName(mount.type, check)),
];
