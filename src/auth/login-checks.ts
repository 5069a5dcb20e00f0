import { type Failure, ok, type Result } from "../base/result.ts";
import type { Shape } from "../wire/view.ts";

export interface Compared {
  /** The values that the role or the mount accepts; empty when it does not restrict them. */
  readonly bound?: readonly string[];
  /** The client's value; null or absent when it is not known. */
  readonly actual?: string | null;
}

/** The result of a check of a login. `assumed`: an explanation took the claim as true, since no proof was sent. */
export interface Check {
  readonly name: string;
  /** The check in words. */
  readonly description: string;
  readonly outcome: "passed" | "failed" | "assumed" | "not_reached";
  readonly bound: readonly string[];
  readonly actual: string | null;
  /** The error message of the login, when the check failed; else null. */
  readonly message: string | null;
}

/** Shape of the checks in the answer to `explain/login` of every method. */
export const CHECKS_SHAPE = [
  {
    name: "string",
    description: "string",
    outcome: "string",
    bound: ["string"],
    actual: "string | null",
    message: "string | null",
  },
] as const satisfies Shape;

/** Records the checks of one login as they are made. `Name` is the union of the names of the method's checks. */
export class LoginChecks<Name extends string> {
  readonly #words: Readonly<Record<Name, string>>;
  readonly #made = new Map<string, Check>();
  #failed: Check | null = null;
  /**
   * False for a login: it ends with the first check that fails, so that a refused client causes no more work. True for
   * an explanation, which goes on with the checks that can still be made.
   */
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
  recordNamed<T>(
    name: string,
    description: string,
    { bound = [], actual = null }: Compared,
    result: Result<T>,
  ): Result<T> {
    const message = result.ok ? null : failureText(result.error);
    const check: Check = { name, description, outcome: result.ok ? "passed" : "failed", bound, actual, message };
    if (!result.ok) this.#failed ??= check;
    this.#made.set(name, check);
    return result;
  }

  /** Records a check that can't be made because only a claim was sent. Returns the claim. */
  assume<T>(name: Name, actual: string | null, claim: T): Result<T> {
    this.#made.set(name, { ...this.#unmade(name), outcome: "assumed", actual });
    return ok(claim);
  }

  /** Lists the checks: first those that are not in `order`, then those of `order`, whether they were made or not. */
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
