import {
  addressProblem,
  answerExplanation,
  answerVerified,
  EXPLANATION_SHAPE,
  explainedAttempt,
  type LAST_CHECKS,
  type LoginAttempt,
  loginAttempt,
  planToken,
  type VerifiedClient,
} from "../auth/login-attempt.ts";
import { type RefusalStub, refusedRoute } from "../auth/refused-logins.ts";
import { loginRoute, type Route, tokenRoute } from "../auth/route.ts";
import { AUTH, dataAnswer } from "../auth/route-description.ts";
import { type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Mount } from "../system/mount.ts";
import type { FieldSchema } from "../wire/field-schema.ts";

type LastCheck = keyof typeof LAST_CHECKS;

/** The login of a method. `Input` is what its checks need: the fields of a login, or of an explanation. */
interface MethodLogin<Name extends string, Fields, Explained, Input> {
  /** One line: what the login does. */
  readonly summary: string;
  /** Description of each check. */
  readonly checks: Readonly<Record<Name | LastCheck, string>>;
  readonly fields: FieldSchema<Fields>;
  readonly explainFields: FieldSchema<Explained>;
  /** Reads the input of a login. */
  readonly read: (fields: Fields) => Input;
  /** Reads the input of an explanation, or refuses it. Its address is checked before. */
  readonly readExplained: (fields: Explained) => Result<Input>;
  /** Makes the checks up to those of the entity and the token. Issues nothing. */
  readonly verify: (attempt: LoginAttempt<Name | LastCheck>, input: Input) => Promise<Result<VerifiedClient>>;
  /** A client that passed a check of these has proved who it is. */
  readonly proofs: readonly Name[];
  /** The checks that an explanation shows last, in this order. */
  readonly lastChecks: readonly (Name | LastCheck)[];
  /** The alias of a client as an explanation shows it; the alias itself unless set. */
  readonly shownAlias?: (alias: string) => string | null;
  /** The object of a mount, which stores its refused logins. */
  readonly objectAt: (env: Env, mount: Mount) => RefusalStub;
}

/** The endpoints `login`, `explain/login` and `explain/refused`. An explanation makes the same checks as a login. */
export function loginRoutes<Name extends string, Fields extends object, Explained extends AddressField, Input>(
  method: MethodLogin<Name, Fields, Explained, Input>,
): readonly Route[] {
  const { checks, verify, objectAt, shownAlias = (alias: string) => alias } = method;
  return [
    loginRoute("login", {
      summary: method.summary,
      operationId: "login",
      answers: AUTH,
      input: method.fields,
      handle: async (context) => {
        const attempt = loginAttempt(context, checks);
        const verified = await verify(attempt, method.read(context.fields));
        return answerVerified(attempt, method.proofs, objectAt(context.env, attempt.mount), verified);
      },
    }),
    tokenRoute("update", "explain/login", {
      summary: "Reports the checks of a login; gives no token and stores nothing.",
      operationId: "explain-login",
      answers: dataAnswer(EXPLANATION_SHAPE),
      input: method.explainFields,
      countsAs: "login",
      async prepare({ fields }) {
        const problem = addressProblem(fields);
        return problem ? refuse(problem) : method.readExplained(fields);
      },
      async handle(context) {
        const attempt = explainedAttempt(context, checks);
        const verified = await verify(attempt, context.prepared);
        if (!verified.ok) return answerExplanation(attempt.checks.list(method.lastChecks), verified);
        const { alias, token } = verified.value;
        const planned = await planToken(attempt, verified.value, {
          alias: shownAlias(alias.name),
          policies: token.policies,
        });
        return answerExplanation(attempt.checks.list(method.lastChecks), planned);
      },
    }),
    refusedRoute(objectAt),
  ];
}

interface AddressField {
  readonly client_address: string | undefined;
}
