import { currentTime, formatTime } from "../base/clock.ts";
import { MAX_ADDRESS_LENGTH } from "../base/limits.ts";
import { err, type Failure, ok, type Result } from "../base/result.ts";
import { entityForLogin, findEntityForLogin, type LoginAlias } from "../identity/entity-for-login.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import type { TokenPlan } from "../token/record.ts";
import type { Login } from "../token/rules/login.ts";
import { sent, text } from "../wire/fields.ts";
import { dataReply, type Reply } from "../wire/reply.ts";
import type { GroveRequest } from "../wire/request.ts";
import { type Shape, view } from "../wire/view.ts";
import type { ParentOfLogin } from "./issue.ts";
import { type IssuedLogin, issueLogin, planIssue } from "./issue-login.ts";
import { boundedCheck, noteRefusal, type RefusalStub } from "./refused-logins.ts";
import { type LoginContext, mountOf, type PresentedContext, type ReadyContext } from "./route.ts";

/** The result of a check of a login. `assumed`: an explanation took the claim as true, since no proof was sent. */
export interface Check {
  readonly name: string;
  readonly description: string;
  readonly outcome: "passed" | "failed" | "assumed" | "not_reached";
  /** The values that the role or the mount accepts; empty when it does not restrict them. */
  readonly bound: readonly string[];
  /** The client's value; null when it is not known. */
  readonly actual: string | null;
  readonly message: string | null;
}

type Compared = Partial<Pick<Check, "bound" | "actual">>;

const CHECKS_SHAPE = [
  {
    name: "string",
    description: "string",
    outcome: ["one of", "passed", "failed", "assumed", "not_reached"],
    bound: ["string"],
    actual: "string | null",
    message: "string | null",
  },
] as const satisfies Shape;

/** Records the checks of one login as they are made. `Name` is the union of the names of the method's checks. */
class LoginChecks<Name extends string> {
  readonly #words: Readonly<Record<Name, string>>;
  readonly #made = new Map<string, Check>();
  #failed: Check | null = null;
  /** False for a login, which ends with the first check that fails: a refused client must cause no more work. */
  readonly goesOn: boolean;

  constructor(words: Readonly<Record<Name, string>>, goesOn: boolean) {
    this.#words = words;
    this.goesOn = goesOn;
  }

  get failed(): Check | null {
    return this.#failed;
  }

  hasPassed(name: Name): boolean {
    return this.#made.get(name)?.outcome === "passed";
  }

  /** Records a check that was made, and returns its result unchanged. */
  record<T>(name: Name, compared: Compared, result: Result<T>): Result<T> {
    return this.recordNamed(name, this.#words[name], compared, result);
  }

  /** Like `record`, for a check whose name comes from the settings of a role. */
  recordNamed<T>(name: string, description: string, { bound = [], actual = null }: Compared, result: Result<T>) {
    const message = result.ok ? null : failureText(result.error);
    const check: Check = { name, description, outcome: result.ok ? "passed" : "failed", bound, actual, message };
    if (!result.ok) this.#failed ??= check;
    this.#made.set(name, check);
    return result;
  }

  /** Records a check that can't be made, because only a claim was sent or for the reason `unchecked`. Returns the claim. */
  assume<T>(name: Name, { bound = [], actual = null }: Compared, claim: T, unchecked?: Failure): Result<T> {
    const message = unchecked ? `could not be checked: ${failureText(unchecked)}` : null;
    this.#made.set(name, { ...this.#unmade(name), outcome: "assumed", bound, actual, message });
    return ok(claim);
  }

  /** Lists the checks: first the made checks that are not in `order`, then all checks of `order`, made or not. */
  list(order: readonly Name[]): Check[] {
    const ordered: readonly string[] = order;
    const others = [...this.#made.values()].filter(({ name }) => !ordered.includes(name));
    return [...others, ...order.map((name) => this.#made.get(name) ?? this.#unmade(name))];
  }

  #unmade(name: Name): Check {
    const description = this.#words[name];
    return { name, description, outcome: "not_reached", bound: [], actual: null, message: null };
  }
}

function failureText(failure: Failure): string {
  return "message" in failure ? failure.message : failure.code.replaceAll("_", " ");
}

/** Descriptions of the last checks of a login, common to all methods. */
export const LAST_CHECKS = {
  entity: "The entity of the holder is not disabled.",
  token: "The role and the mount can give a token.",
} as const;

/**
 * A login in progress, or the explanation of one. `Name` is the union of the names of the method's checks. `notes`
 * carry the role that the login names, and the identity that it proved.
 */
export interface LoginAttempt<Name extends string = keyof typeof LAST_CHECKS>
  extends Pick<ReadyContext, "env" | "installation" | "admitRole">,
    Pick<GroveRequest, "clientAddress" | "notes"> {
  readonly mount: Mount;
  readonly checks: LoginChecks<Name>;
}

/** A client that a method has verified: the alias of its entity, and the token that it gets. */
export interface VerifiedClient {
  readonly alias: Omit<LoginAlias, "mountAccessor">;
  readonly token: Omit<Login, "entityId">;
  /** Finds the parent of the token; absent: it is an orphan. */
  readonly parent?: ParentOfLogin;
}

export const EXPLAINED_ADDRESS = {
  client_address: sent(text()).describe("The client's address; that of this request unless sent"),
};

/** Returns the problem with the address field of an explanation, or null. */
export function addressProblem({ client_address: address = "" }: { readonly client_address?: string | undefined }) {
  return address.length > MAX_ADDRESS_LENGTH ? "client_address is no address" : null;
}

interface PlannedToken extends TokenPlan {
  readonly identityPolicies: readonly string[];
}

const PLANNED_TOKEN = view<PlannedToken>({
  token_policies: [["string"], ({ spec }) => spec.record.policies],
  "identity_policies?": [["string"], ({ identityPolicies: names }) => (names.length > 0 ? names : undefined)],
  token_type: ["string", ({ spec }) => spec.type],
  expiration_time: ["string | null", ({ spec }) => formatTime(spec.expiresAt)],
});

export const EXPLANATION_SHAPE = { allowed: "boolean", checks: CHECKS_SHAPE, "token?": PLANNED_TOKEN.shape } as const;

/** Checks that are not shown; only their results are used. @param words description of each check. */
export function unshownChecks<Name extends string>(
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name>["checks"] {
  return new LoginChecks(words, false);
}

/** Starts the login of a request. @param words description of each check of the method. */
export function loginAttempt<Name extends string>(
  context: LoginContext<unknown>,
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name> {
  const { env, installation, admitRole, request } = context;
  const { clientAddress, notes } = request;
  const checks = new LoginChecks(words, false);
  return { env, installation, admitRole, mount: mountOf(context), clientAddress, notes, checks };
}

/** Starts the explanation of a login. Its notes, about an identity that is not the caller's, are not logged. */
export function explainedAttempt<Name extends string>(
  context: PresentedContext<{ readonly client_address: string | undefined }>,
  words: Readonly<Record<Name, string>>,
): LoginAttempt<Name> {
  const attempt = loginAttempt(context, words);
  const clientAddress = context.fields.client_address ?? attempt.clientAddress;
  return { ...attempt, clientAddress, notes: {}, checks: new LoginChecks(words, true) };
}

/** Issues the token of a verified client: the last step of every login. Refused when its entity can't be used. */
export async function issueToken(
  { env, installation, mount, checks, notes }: LoginAttempt,
  { alias, token, parent }: VerifiedClient,
): Promise<Result<IssuedLogin>> {
  const found = await entityForLogin(env, { ...alias, mountAccessor: mount.accessor });
  if (!found.ok && found.error.entityId !== "") notes.targetEntities = [found.error.entityId];
  const entity = checks.record("entity", {}, found.ok ? found : err(found.error.failure));
  if (!entity.ok) return entity;
  const login = { ...token, entityId: entity.value.entity.id };
  const issued = await issueLogin(env, installation, mount, login, parent);
  return checks.record("token", {}, issued);
}

/** Makes the last checks of an explanation, with the values of `shown`. Returns the planned token. Writes nothing. */
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
  if (!plan.ok) return plan;
  const { spec, warnings } = plan.value;
  const absent = policyWarnings(installation, [...spec.record.policies, ...policies]);
  return ok({ spec, identityPolicies: policies, warnings: [...warnings, ...absent] });
}

/**
 * Answers a login, and records a refusal, in the audit log too. A client that passed a check of `proofs` has proved who
 * it is. `nameOf` returns the name of a check as the mount calls it.
 */
export function answerLogin<Name extends string>(
  attempt: LoginAttempt<Name>,
  proofs: readonly Name[],
  stub: RefusalStub,
  answer: Result<Reply>,
  nameOf: (check: string) => string = (check) => check,
): Result<Reply> {
  const { failed } = attempt.checks;
  if (!answer.ok && failed) {
    const check = boundedCheck(failed);
    attempt.notes.check = { ...check, name: nameOf(check.name) };
    noteRefusal(
      attempt,
      attempt.mount,
      stub,
      check,
      proofs.some((name) => attempt.checks.hasPassed(name)),
    );
  }
  return answer;
}

/** Issues the token of a client that a method has verified, and answers its login; see `answerLogin`. */
export async function answerVerified<Name extends string>(
  attempt: LoginAttempt<Name | keyof typeof LAST_CHECKS>,
  proofs: readonly Name[],
  stub: RefusalStub,
  verified: Result<VerifiedClient>,
): Promise<Result<Reply>> {
  const issued = verified.ok ? await issueToken(attempt, verified.value) : verified;
  return answerLogin(attempt, proofs, stub, issued);
}

/** Answers the explanation of a login, with `more` data of the method. */
export function answerExplanation(
  checks: readonly Check[],
  planned: Result<PlannedToken>,
  more: Readonly<Record<string, unknown>> = {},
): Result<Reply> {
  const token = planned.ok && { token: PLANNED_TOKEN.show(planned.value) };
  const data = { ...more, allowed: planned.ok, checks, ...token };
  return dataReply(data, planned.ok ? planned.value.warnings : undefined);
}

/**
 * Returns a warning when a token and its entity have no existing policy besides `default`, else nothing. The usual
 * cause is a role with the name of a policy that does not exist.
 */
export function policyWarnings(installation: Installation, policies: readonly string[]): readonly string[] {
  const others = policies.filter((name) => name !== "default");
  const absent = installation.policies.absent(others, currentTime());
  if (absent.length < others.length) return [];
  const named = absent.map((name) => `policy ${JSON.stringify(name)} does not exist`).join(", ");
  return [`This login gives no policies besides "default"${named === "" ? "" : `: ${named}`}`];
}
