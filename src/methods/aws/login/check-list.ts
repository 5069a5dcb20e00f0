import { type Check, LAST_CHECKS, type LoginAttempt } from "../../../auth/login-attempt.ts";
import { type Failure, ok, type Result } from "../../../base/result.ts";

/** Descriptions of the checks of a login, by name. */
export const CHECKS = {
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
  access_list: "The access list lets the instance log in: it is its first login, or the nonce is right.",
  signature_uses: "The signed request has not given as many tokens as it may.",
  ...LAST_CHECKS,
} as const satisfies Readonly<Record<string, string>>;

export type CheckName = keyof typeof CHECKS;

/** A login in progress, or the explanation of one. */
export type Attempt = LoginAttempt<CheckName>;

/** The result of a check with the values that were compared. `isAssumed`: a claim without proof was taken as true. */
export type Judged<Found> = Partial<Pick<Check, "bound" | "actual">> & {
  readonly result: Result<Found>;
  readonly isAssumed?: boolean;
  /** Why a claim that was taken as true could not be checked. */
  readonly unchecked?: Failure;
};

type Maybe<T> = T | Promise<T>;

/** Where the outcomes of checks are recorded. */
type Recording = { readonly attempt: { readonly checks: Pick<Attempt["checks"], "record" | "assume"> } };

/** Checks in their order. `run` makes them until one fails, and returns what they have found. */
export interface Checks<Known, Found> {
  readonly names: readonly CheckName[];
  readonly run: (known: Known) => Maybe<Result<Found>>;
}

/**
 * A list of checks, in one place for the login that makes them and for its explanation. A check can use only the
 * results of earlier checks: a wrong order does not compile.
 */
export class CheckList<Known extends Recording, Found extends object> {
  readonly names: readonly CheckName[];
  readonly run: Checks<Known, Found>["run"];

  private constructor(names: readonly CheckName[], run: Checks<Known, Found>["run"]) {
    this.names = names;
    this.run = run;
  }

  /** A list without checks. */
  static of<Known extends Recording>() {
    return new CheckList<Known, object>([], () => ok({}));
  }

  /** Adds other checks. */
  with<More extends object>({ names, run }: Checks<Known & Found, More>): CheckList<Known, Found & More> {
    return new CheckList<Known, Found & More>([...this.names, ...names], async (known) => {
      const found = await this.run(known);
      if (!found.ok) return found;
      const more = await run({ ...known, ...found.value });
      return more.ok ? ok({ ...found.value, ...more.value }) : more;
    });
  }

  /** Adds a step that finds something and is no check. */
  find<More extends object>(run: Checks<Known & Found, More>["run"]) {
    return this.with({ names: [], run });
  }

  /** Adds a check, whose outcome is recorded. */
  check<More extends object>(name: CheckName, judge: (known: Known & Found) => Maybe<Judged<More>>) {
    const run = async (known: Known & Found) => {
      const { result, isAssumed, unchecked, ...compared } = await judge(known);
      const { checks } = known.attempt;
      if (isAssumed && result.ok) return checks.assume(name, compared, result.value, unchecked);
      return checks.record(name, compared, result);
    };
    return this.with({ names: [name], run });
  }
}
