/** What `explain/login` of an auth method answers. */
export interface LoginExplanation {
  readonly allowed: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly description: string;
    readonly outcome: string;
    readonly bound: readonly string[];
    readonly actual: string | null;
    readonly message: string | null;
  }[];
  readonly token?: Record<string, unknown>;
}
