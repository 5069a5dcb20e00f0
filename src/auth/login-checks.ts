import { type Failure, ok, type Result } from "../base/result.ts";
import type { Shape } from "../wire/shape.ts";

/** What a check compares. */
export interface Compared {
  /** What the role or the mount asks for; empty where it asks for nothing. */
  readonly bound?: readonly string[];
  /** What the client has, if that is known. */
  readonly actual?: string | null;
}

/** A check of a login as it was made. `assumed`: the claim was taken as true, since there is no proof to check. */
export interface Check {
  readonly name: string;
  /** The check in words. */
  readonly description: string;
  readonly outcome: "passed" | "failed" | "assumed" | "not_reached";
  readonly bound: readonly string[];
  readonly actual: string | null;
  /** What the login would be answered, when the check failed. */
  readonly message: string | null;
}

/** The checks of a login, as `explain/login` of every method answers them. */
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

/** Where the rules of a login record each check as they make it. `Name` are the checks of the method. */
export class LoginChecks<Name extends string> {
  readonly #words: Readonly<Record<Name, string>>;
  readonly #made = new Map<string, Check>();
  #failed: Check | null = null;
  /**
   * A login ends with the first check that fails, so that nothing more is done for a client that is refused. An explanation goes on
   * while there is something to check.
   */
  readonly goesOn: boolean;

  /** @param words each check in words. */
  constructor(words: Readonly<Record<Name, string>>, goesOn: boolean) {
    this.#words = words;
    this.goesOn = goesOn;
  }

  /** The first check that failed. */
  get failed(): Check | null {
    return this.#failed;
  }

  /** Whether a check was made and passed. */
  hasPassed(name: Name): boolean {
    return this.#made.get(name)?.outcome === "passed";
  }

  /** Records a check that was made. Returns its result. */
  record<T>(name: Name, compared: Compared, result: Result<T>): Result<T> {
    return this.recordNamed(name, this.#words[name], compared, result);
  }

  /** The same for a check that the settings of a role name. */
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

  /** Records a check that can't be made, since there is only a claim. Returns the claim. */
  assume<T>(name: Name, actual: string | null, claim: T): Result<T> {
    this.#made.set(name, { ...this.#unmade(name), outcome: "assumed", actual });
    return ok(claim);
  }

  /** The checks that were made, and after them those of `order` in this order, be they made or not reached. */
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

/** What a refused login would be answered, in words. */
function failureText(failure: Failure): string {
  return "message" in failure ? failure.message : failure.code.replaceAll("_", " ");
}
