import { href } from "../href.ts";
import { AllowingPolicy, Notice } from "../ui/index.ts";

/** The answer of `sys/explain/access`: whether a request is allowed, and why. */
export interface Explanation {
  readonly allowed: boolean;
  readonly operation: string;
  readonly path: string;
  readonly message: string;
  /** Of the token and of its entity. */
  readonly policies: readonly string[];
  readonly missing_policies: readonly string[];
  /** The rule that decided; absent without one. */
  readonly rule?: {
    readonly policies: readonly { readonly name: string; readonly path: string; readonly lines: readonly number[] }[];
  };
  /** A policy that would allow it; null when no additional policy can. */
  readonly hcl: string | null;
}

/** Which rule allows or refuses a request, where it stands, and what would allow it. */
export function ExplanationNotice({ explanation }: { readonly explanation: Explanation }) {
  const { allowed, operation, path, message, rule, policies, missing_policies: missing, hcl } = explanation;
  return (
    <Notice tone={allowed ? "good" : "warn"} title={`${operation} of ${path}: ${allowed ? "allowed" : "refused"}`}>
      <p>{message}</p>
      {rule?.policies.map(({ name, path: written, lines }) => (
        <p key={name}>
          Policy <a href={href(["policies", name])}>{name}</a>, line {lines.join(", ")}: <code>{written}</code>
        </p>
      ))}
      <p class="small">Its policies: {policies.join(", ") || "none"}</p>
      {missing.length > 0 && <p class="small bad">There is no policy {missing.join(", ")}.</p>}
      <AllowingPolicy hcl={hcl} />
    </Notice>
  );
}
