import { currentTime } from "../base/clock.ts";
import { MAX_ADDRESS_LENGTH, MAX_META_LENGTH } from "../base/limits.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { entityForLogin, findEntityForLogin, type LoginAlias } from "../identity/login.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { issuerOf, type Mount } from "../system/mount.ts";
import { isEnded } from "../system/watermarks.ts";
import { REVOKED_MEANWHILE } from "../token/rules/create.ts";
import { type Login, type LoginPlan, planLogin } from "../token/rules/login.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { sent, text } from "../wire/fields.ts";
import { type AuthReply, dataReply, type Reply } from "../wire/reply.ts";
import type { Shape } from "../wire/shape.ts";
import { issue } from "./issue.ts";
import { CHECKS_SHAPE, type Check, LoginChecks } from "./login-checks.ts";
import { mountOf } from "./method.ts";
import { policyWarnings } from "./policy-warning.ts";
import { noteRefusal, type RefusalStub } from "./refused/report.ts";
import type { LoginContext, PresentedContext } from "./route.ts";

/** The checks that end the logins of every method, in words. */
export const LAST_CHECKS = {
  entity: "The entity of the holder is not disabled.",
  token: "The role and the mount can give a token.",
} as const;

/** A login under way, or the explanation of one. `Name` are the checks of the method. */
export interface LoginAttempt<Name extends string = keyof typeof LAST_CHECKS> {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  /** null when the proxy in front did not send it. */
  readonly clientAddress: string | null;
  /** For the audit log: the role that is asked for, and who is proved to ask. */
  readonly notes: AuditNotes;
  readonly checks: LoginChecks<Name>;
}

/** A client that a method has verified: what it is known by, and the token that it gets. */
export interface VerifiedClient {
  readonly alias: Omit<LoginAlias, "mountAccessor">;
  readonly token: Omit<Login, "entityId">;
}

/** The field that both methods have in explanations of logins. */
export const EXPLAINED_ADDRESS = {
  client_address: sent(text()).describe("The address that the login comes from; that of this request unless sent"),
};

/** Why an address can't be explained, or null. */
export function addressProblem({ client_address: address = "" }: { readonly client_address?: string | undefined }) {
  return address.length > MAX_ADDRESS_LENGTH ? "client_address is no address" : null;
}

/** The token that an explained login would get. */
const PLANNED_TOKEN_SHAPE = {
  token_policies: ["string"],
  "identity_policies?": ["string"],
  token_type: "string",
  expiration_time: "string | null",
} as const satisfies Shape;

/** What `explain/login` of every method answers. */
export const EXPLANATION_SHAPE = { allowed: "boolean", checks: CHECKS_SHAPE, "token?": PLANNED_TOKEN_SHAPE } as const;

/** A token that a login would get, and what its answer would warn of. */
interface PlannedToken {
  readonly token: Record<string, unknown>;
  readonly warnings: readonly string[];
}

/** The login of a request. `words` are the checks of the method. */
export function loginAttempt<Name extends string>(
  context: LoginContext<unknown>,
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name> {
  const { env, installation, request } = context;
  const { clientAddress, notes } = request;
  return { env, installation, mount: mountOf(context), clientAddress, notes, checks: new LoginChecks(words, false) };
}

/** A login that a request asks to have explained. The audit log notes no identity: here another caller asks about one. */
export function explainedAttempt<Name extends string>(
  context: PresentedContext<{ readonly client_address: string | undefined }>,
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name> {
  const attempt = loginAttempt(context, words);
  const clientAddress = context.fields.client_address ?? attempt.clientAddress;
  return { ...attempt, clientAddress, notes: {}, checks: new LoginChecks(words, true) };
}

/** A login that got its token. */
export interface IssuedLogin {
  readonly auth: AuthReply;
  readonly warnings: readonly string[];
}

/** Plans the token of a login that an auth method has verified, or says why there can be none. Writes nothing. */
function planIssue(installation: Installation, mount: Mount, login: Login): Result<LoginPlan> {
  if (JSON.stringify([login.metadata, login.internal]).length > MAX_META_LENGTH) {
    return refuse("the metadata of the login is too large");
  }
  return planLogin(mount, login, installation.watermarks.newest, currentTime());
}

/**
 * Gives a token to a holder that an auth method has verified: the method's last step, so that nothing is issued by one that
 * failed.
 *
 * A mount that was disabled meanwhile issues nothing. The token is made as of what was known when the login began: a watermark
 * that was made since ends it, also when this isolate has not heard of it yet.
 */
export async function issueLogin(
  env: Env,
  installation: Installation,
  mount: Mount,
  login: Login,
): Promise<Result<IssuedLogin>> {
  const plan = planIssue(installation, mount, login);
  if (!plan.ok) return plan;
  const { spec, warnings } = plan.value;
  const loaded = await loadInstallation(env);
  if (!loaded.ok) return loaded;
  const mountNow = loaded.value.mountAt(mount.path);
  if (!mountNow || issuerOf(mountNow) !== issuerOf(mount)) return err(DENIED);
  if (isEnded(loaded.value.watermarks, "all", spec.record)) return err(REVOKED_MEANWHILE);
  const auth = await issue(env, installation, spec, null, "");
  return auth.ok ? ok({ auth: auth.value, warnings }) : auth;
}

/**
 * Gives a verified client its token: the last step of every login.
 *
 * @returns "permission_denied" when an operator has disabled the entity of the client.
 */
export async function issueToken(
  { env, installation, mount, checks }: LoginAttempt,
  { alias, token }: VerifiedClient,
): Promise<Result<IssuedLogin>> {
  const found = await entityForLogin(env, { ...alias, mountAccessor: mount.accessor });
  const entity = checks.record("entity", {}, found);
  if (!entity.ok) return entity;
  const issued = await issueLogin(env, installation, mount, { ...token, entityId: entity.value.entity.id });
  return checks.record("token", {}, issued);
}

/**
 * Makes the checks of the last step and gives the token that would be made. Makes nothing.
 *
 * @param shown what the checks compare, as it is shown.
 */
export async function planToken(
  { env, installation, mount, checks }: LoginAttempt,
  { alias, token }: VerifiedClient,
  shown: { readonly alias: string | null; readonly policies?: readonly string[] },
): Promise<Result<PlannedToken>> {
  const found = await findEntityForLogin(env, { ...alias, mountAccessor: mount.accessor });
  const entity = checks.record("entity", { actual: shown.alias }, found);
  if (!entity.ok) return entity;
  const { id, policies } = entity.value;
  const planned = planIssue(installation, mount, { ...token, entityId: id ?? "" });
  const plan = checks.record("token", { bound: shown.policies ?? [] }, planned);
  return plan.ok ? ok(renderPlannedToken(installation, plan.value, policies)) : plan;
}

/**
 * Answers a login. One that is refused is kept for operators.
 *
 * @param proofs the checks of which one proves who the client is.
 */
export function answerLogin<Name extends string>(
  attempt: LoginAttempt<Name>,
  proofs: readonly Name[],
  stub: RefusalStub,
  issued: Result<IssuedLogin>,
): Result<Reply> {
  if (issued.ok) return ok({ kind: "auth", auth: issued.value.auth, warnings: issued.value.warnings });
  const { failed } = attempt.checks;
  const proven = proofs.some((name) => attempt.checks.hasPassed(name));
  if (failed)
    noteRefusal(attempt, attempt.mount, stub, { check: failed.name, description: failed.description, proven });
  return issued;
}

/** Answers what the checks of a login came to. @param more what the method says beside it. */
export function answerExplanation(
  checks: readonly Check[],
  planned: Result<PlannedToken>,
  more: Readonly<Record<string, unknown>> = {},
): Result<Reply> {
  const data = { ...more, allowed: planned.ok, checks, ...(planned.ok && { token: planned.value.token }) };
  return ok(dataReply(data, planned.ok ? planned.value.warnings : undefined));
}

/**
 * The token of a plan. Times in RFC 3339; null for a token that does not end.
 *
 * @param identityPolicies of the entity that the login would find.
 */
function renderPlannedToken(
  installation: Installation,
  { spec: { record, type, expiresAt }, warnings }: LoginPlan,
  identityPolicies: readonly string[],
): PlannedToken {
  return {
    token: {
      token_policies: record.policies,
      ...(identityPolicies.length > 0 && { identity_policies: identityPolicies }),
      token_type: type,
      expiration_time: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    },
    warnings: [...warnings, ...policyWarnings(installation, [...record.policies, ...identityPolicies])],
  };
}
