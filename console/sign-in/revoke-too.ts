import type { Self } from "../../client/answers.d.ts";
import { type Amount, amountText } from "../tokens/amount.ts";

/**
 * What ends when the token of the session is revoked at the sign-out, and what that means.
 *
 * @param below the number of tokens below it; null when the token may not count them
 */
export function revocationTexts({ policies }: Pick<Self, "policies">, below: Amount | null): readonly string[] {
  return [
    ...(policies.includes("root")
      ? ["This is a root token: first make sure that somebody else can do what only it may do."]
      : []),
    belowText(below),
    "What ends is refused from the answer on, for everybody who has it. There is no way back.",
  ];
}

function belowText(below: Amount | null): string {
  if (below === null)
    return "The token ends, and everything below it: the tokens that were made with it, and all leases.";
  if (below.count === 0) return "The token ends with its leases. No token is below it.";
  const are = below.count === 1 && !below.more ? "token" : "tokens";
  return `The token ends, and the ${amountText(below)} ${are} below it, with all their leases.`;
}
