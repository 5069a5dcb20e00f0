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
import type { Shape } from "../wire/view.ts";
import { issue } from "./issue.ts";
import { CHECKS_SHAPE, type Check, LoginChecks } from "./login-checks.ts";
import { mountOf } from "./method.ts";
import { policyWarnings } from "./policy-warning.ts";
import { noteRefusal, type RefusalStub } from "./refused/report.ts";
import type { LoginContext, PresentedContext } from "./route.ts";

/** Descriptions of the last checks of a login, common to all methods. */
export const LAST_CHECKS = {
  entity: "The entity of the holder is not disabled.",
  token: "The role and the mount can give a token.",
} as const;

/** A login in progress, or the explanation of one. `Name` is the union of the names of the method's checks. */
export interface LoginAttempt<Name extends string = keyof typeof LAST_CHECKS> {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
  /** null when the proxy in front did not send it. */
  readonly clientAddress: string | null;
  /** For the audit log: the role that the login names, and the identity that it proved. */
  readonly notes: AuditNotes;
  readonly checks: LoginChecks<Name>;
}

/** A client that a method has verified: the alias of its entity, and the token that it gets. */
export interface VerifiedClient {
  readonly alias: Omit<LoginAlias, "mountAccessor">;
  readonly token: Omit<Login, "entityId">;
}

/** The field that `explain/login` of every method has. */
export const EXPLAINED_ADDRESS = {
  client_address: sent(text()).describe("The address that the login comes from; that of this request unless sent"),
};

/** Returns the problem with the address field of an explanation, or null. */
export function addressProblem({ client_address: address = "" }: { readonly client_address?: string | undefined }) {
  return address.length > MAX_ADDRESS_LENGTH ? "client_address is no address" : null;
}

/** Shape of the token that an explained login would get. */
const PLANNED_TOKEN_SHAPE = {
  token_policies: ["string"],
  "identity_policies?": ["string"],
  token_type: "string",
  expiration_time: "string | null",
} as const satisfies Shape;

/** Shape of the answer to `explain/login` of every method. */
export const EXPLANATION_SHAPE = { allowed: "boolean", checks: CHECKS_SHAPE, "token?": PLANNED_TOKEN_SHAPE } as const;

/** The token that a login would get, and the warnings of its answer. */
interface PlannedToken {
  readonly token: Record<string, unknown>;
  readonly warnings: readonly string[];
}

/** Starts the login of a request. @param words description of each check of the method. */
export function loginAttempt<Name extends string>(
  context: LoginContext<unknown>,
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name> {
  const { env, installation, request } = context;
  const { clientAddress, notes } = request;
  return { env, installation, mount: mountOf(context), clientAddress, notes, checks: new LoginChecks(words, false) };
}

/**
 * Starts the explanation of a login. Its notes do not reach the audit log: the identity that is explained is not that
 * of the caller.
 */
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

/** Plans the token of a verified login, or returns why there can be none. Writes nothing. */
function planIssue(installation: Installation, mount: Mount, login: Login): Result<LoginPlan> {
  if (JSON.stringify([login.metadata, login.internal]).length > MAX_META_LENGTH) {
    return refuse("the metadata of the login is too large");
  }
  return planLogin(mount, login, installation.watermarks.newest, currentTime());
}

/**
 * Issues the token of a verified login. It is the last step of a method, so a login that fails issues nothing.
 *
 * A mount that was disabled or moved since the login began issues nothing. The token records the newest watermark that
 * was known when the login began. A later watermark therefore ends it, even one that this isolate has not read yet.
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
 * Issues the token of a verified client: the last step of every login.
 *
 * @returns "permission_denied" when the entity of the client is disabled or was tampered with.
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
 * Makes the checks of the last step and returns the token that a login would get. Writes nothing.
 *
 * @param shown values that the checks compare, in the form for the answer.
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
 * Answers a login. A refused login is recorded for operators (`explain/refused`).
 *
 * @param proofs names of checks; a login that passed one of them has proved its identity.
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

/** Answers the explanation of a login. @param more further data of the method. */
export function answerExplanation(
  checks: readonly Check[],
  planned: Result<PlannedToken>,
  more: Readonly<Record<string, unknown>> = {},
): Result<Reply> {
  const data = { ...more, allowed: planned.ok, checks, ...(planned.ok && { token: planned.value.token }) };
  return ok(dataReply(data, planned.ok ? planned.value.warnings : undefined));
}

/**
 * Returns the token of a plan for the answer. `expiration_time` is RFC 3339; null for a token that does not expire.
 *
 * @param identityPolicies policies of the entity that the login would get.
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
