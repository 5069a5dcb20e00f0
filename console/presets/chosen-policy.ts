import { placeIn } from "../policies/policy-endpoint.ts";
import type { Problem } from "../result.ts";
import { FIRST_POLICY } from "./first-policies.ts";

/** The policy of a role: a new one with the name of the role, or one that exists. */
export interface PolicyChoice {
  readonly kind: "new" | "existing";
  /** The text of the new one. */
  readonly text: string;
  /** The name of the existing one; "" until it is chosen. */
  readonly name: string;
}

export const FIRST_CHOICE: PolicyChoice = { kind: "new", text: FIRST_POLICY, name: "" };

/** The mistake in a choice; "" without one. */
export function choiceMistake(
  { kind, name, text }: PolicyChoice,
  { problem }: { readonly problem: Problem | null },
): string {
  if (kind === "existing") return name === "" ? "Choose one" : "";
  if (text.trim() === "") return "Needed";
  if (problem === null) return "";
  const message = problem.messages.join(" ");
  return placeIn(message) ? message.replace(/^failed to parse policy: /, "") : message;
}
