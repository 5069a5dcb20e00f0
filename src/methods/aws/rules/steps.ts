import { failureText } from "../../../auth/login-explanation.ts";
import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import type { AuthType, BoundField } from "./role.ts";

/** The checks of a login, by name, in words. */
const CHECKS = {
  request: "The request has the fields of one kind of login.",
  role: "The role exists.",
  address: "The client's address is in a network that the role is bound to.",
  auth_type: "The role takes this kind of login.",
  document: "The document is signed by the cloud.",
  caller: "STS says who signed the request.",
  nonce: "The nonce has the form of one.",
  principal: "The principal is one that the role is bound to.",
  inferred_session: "The principal is a session of an assumed role, named like an instance.",
  instance: "The instance runs, by what the cloud says now.",
  bound_region: "The region is one that the role is bound to.",
  bound_vm_instance_id: "The instance is one that the role is bound to.",
  bound_account_id: "The account is one that the role is bound to.",
  bound_image_id: "The image is one that the role is bound to.",
  bound_subnet_id: "The subnet is one that the role is bound to.",
  bound_vpc_id: "The VPC is one that the role is bound to.",
  bound_iam_instance_profile_arn: "The instance profile is one that the role is bound to.",
  bound_iam_role_arn: "The role in the instance profile is one that the role is bound to.",
  inferred_role: "The role in the instance profile is the one whose session the principal is.",
  role_tag: "The instance has a genuine role tag, where the role wants one.",
  deny_list: "The role tag is not on the deny list.",
  access_list: "The access list lets the instance log in: it is its first login, or it knows the nonce.",
  signature_uses: "The signed request has not given as many tokens as it may.",
  entity: "The entity of the holder is not disabled.",
  token: "The role and the mount can give a token.",
} as const satisfies Readonly<Record<string, string>>;

export type CheckName = keyof typeof CHECKS;

/** The constraints on an instance, in the order in which they are checked. */
export const INSTANCE_BOUNDS = [
  "bound_region",
  "bound_vm_instance_id",
  "bound_account_id",
  "bound_image_id",
  "bound_subnet_id",
  "bound_vpc_id",
  "bound_iam_instance_profile_arn",
  "bound_iam_role_arn",
] as const satisfies readonly (CheckName & BoundField)[];

/** The checks of a kind of login in their order. */
export function checksOf(kind: AuthType, infersInstance: boolean): readonly CheckName[] {
  const begin = ["role", "address", "auth_type"] as const;
  const instance = ["instance", ...INSTANCE_BOUNDS] as const;
  const end = ["entity", "token"] as const;
  if (kind === "vm") {
    return [...begin, "document", "nonce", ...instance, "role_tag", "deny_list", "access_list", ...end];
  }
  const inferred = infersInstance ? (["inferred_session", ...instance, "inferred_role"] as const) : [];
  return [...begin, "caller", "principal", ...inferred, ...end];
}

/** A check in words. */
export function wordsOf(check: CheckName): string {
  return CHECKS[check];
}

/** What a check compares. */
export interface Compared {
  /** What the role asks for; empty where it asks for nothing. */
  readonly bound?: readonly string[];
  /** What the holder has, if that is known. */
  readonly actual?: string | null;
}

/** Where the rules of a login record each check as they make it. */
export interface LoginSteps {
  /** Records a check that was made. Returns its result. */
  record<T>(check: CheckName, compared: Compared, result: Result<T, Failure>): Result<T, Failure>;
}

/** For logins: which check refused one. */
export class LastFailure implements LoginSteps {
  /** The last check that failed. */
  failed: CheckName = "token";

  record<T>(check: CheckName, _compared: Compared, result: Result<T, Failure>): Result<T, Failure> {
    if (!result.ok) this.failed = check;
    return result;
  }
}

/** How a check ended. `assumed`: the claim was taken as true, since there is no proof to check. */
export type StepOutcome = "passed" | "failed" | "assumed" | "not_reached";

/** A check of a login as it was made. */
export interface Step {
  readonly check: CheckName;
  readonly outcome: StepOutcome;
  readonly bound: readonly string[];
  readonly actual: string | null;
  /** What the login would be answered, when the check failed. */
  readonly message: string | null;
}

/** The checks of a login, to be read afterwards. Of a check that is made twice the last result counts. */
export class RecordedSteps implements LoginSteps {
  readonly #steps = new Map<CheckName, Step>();

  record<T>(check: CheckName, { bound = [], actual = null }: Compared, result: Result<T, Failure>): Result<T, Failure> {
    const message = result.ok ? null : failureText(result.error);
    this.#steps.set(check, { check, outcome: result.ok ? "passed" : "failed", bound, actual, message });
    return result;
  }

  /** Records a check that can't be made, since there is only a claim. */
  assume(check: CheckName, actual: string): void {
    this.#steps.set(check, { check, outcome: "assumed", bound: [], actual, message: null });
  }

  /** The checks in their order, with those that the login did not reach. */
  list(order: readonly CheckName[]): Step[] {
    return order.map(
      (check) => this.#steps.get(check) ?? { check, outcome: "not_reached", bound: [], actual: null, message: null },
    );
  }
}
