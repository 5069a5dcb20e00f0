import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import type { CheckName, Compared, LoginSteps } from "../rules/steps.ts";

/** How a check ended. `assumed`: what it asks for was taken as said, since there is no proof to check. */
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

/** Remembers the checks of a login, to tell them. A check that is made twice counts as it was made last. */
export class ToldSteps implements LoginSteps {
  readonly #steps = new Map<CheckName, Step>();

  judge<T>(check: CheckName, { bound = [], actual = null }: Compared, result: Result<T, Failure>): Result<T, Failure> {
    const message = result.ok ? null : textOf(result.error);
    this.#steps.set(check, { check, outcome: result.ok ? "passed" : "failed", bound, actual, message });
    return result;
  }

  /** Tells a check that can't be made, since what it checks was only said. */
  assume(check: CheckName, actual: string): void {
    this.#steps.set(check, { check, outcome: "assumed", bound: [], actual, message: null });
  }

  /** The checks in their order, those too that the login did not get to. */
  list(order: readonly CheckName[]): Step[] {
    return order.map(
      (check) => this.#steps.get(check) ?? { check, outcome: "not_reached", bound: [], actual: null, message: null },
    );
  }
}

function textOf(failure: Failure): string {
  return "message" in failure ? failure.message : failure.code.replaceAll("_", " ");
}
