import type { Grant } from "./grant.ts";
import type { ParameterRefusal } from "./parameters.ts";
import type { Capability } from "./rule.ts";

/** Why the rules refuse a request. */
export type Refusal =
  /** No rule matches the path. */
  | { readonly kind: "no_rule"; readonly missing: readonly Capability[] }
  /** The rule of the path has none of the capabilities in `missing`, of which one is enough. */
  | { readonly kind: "capability"; readonly missing: readonly Capability[] }
  /** A rule with `deny` decides. */
  | { readonly kind: "deny" }
  /** The path is protected, and its rule lacks `sudo`. It has one of `needed`. */
  | { readonly kind: "sudo"; readonly needed: readonly Capability[] }
  /** The request must ask for response wrapping, with a TTL within the limits of the rule. */
  | { readonly kind: "wrapping" }
  /** The rule limits the page of a list, and the `limit` that was sent is not within it. */
  | { readonly kind: "page" }
  | ParameterRefusal;

/** The evaluation of one path of a request, as a step of a decision. */
export interface Step {
  readonly path: string;
  /** The grant that decided; null when no rule matches. */
  readonly grant: Grant | null;
  /** null: the rules permit the request on this path. */
  readonly refusal: Refusal | null;
}

/** Receives the steps of a decision while it is made. */
export type Trace = (step: Step) => void;

/** The step that a decision follows from; null when no rule was evaluated, as for the root policy. */
export function decisiveStep(steps: readonly Step[], allowed: boolean): Step | null {
  const last = steps.at(-1) ?? null;
  if (allowed) return steps.findLast(({ refusal }) => refusal === null) ?? null;
  // A deny on any spelling ends the decision. Otherwise the refusal of the path itself comes before its alternate's.
  return last?.refusal?.kind === "deny" ? last : (steps.find(({ refusal }) => refusal !== null) ?? null);
}
