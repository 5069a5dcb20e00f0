import type { Explanation } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { AllowingPolicy, Notice } from "../ui/index.ts";

/** Which rule allows or refuses a request, its place in the policy, and a policy that would allow the request. */
export function ExplanationNotice({ explanation }: { readonly explanation: Explanation }) {
  const { allowed, operation, path, message, rule, policies, missing_policies: missing, endpoint, hcl } = explanation;
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
      {/* If the endpoint does not exist, no policy can help. */}
      <AllowingPolicy hcl={endpoint === null ? null : hcl} />
    </Notice>
  );
}
