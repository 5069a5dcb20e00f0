import type { Step } from "../../policy/trace.ts";
import type { TokenEnd } from "../../token/state.ts";

/** The reason for a decision: a code for programs, and a sentence. */
export interface Reason {
  readonly reason: string;
  readonly message: string;
}

const ENDS: Readonly<Record<TokenEnd | "unknown", string>> = {
  unknown: "This installation did not make the token or accessor.",
  expired: "The token has expired.",
  revoked: "The token was revoked.",
  spent: "The token has made its last use.",
  ended_together: "The token was revoked together with all others of its mount, role or installation.",
  parent_ended: "A token above it has ended, and it with that.",
  gone: "Nothing is stored of the token any more: it has expired or was revoked.",
};

/** Returns why a token is not valid. */
export function tokenReason(end: TokenEnd | "unknown"): Reason {
  return { reason: `token_${end}`, message: ENDS[end] };
}

export const ADDRESS: Reason = {
  reason: "address",
  message: "The token is bound to networks (token_bound_cidrs), and the address of the client is in none of them.",
};
export const ENTITY: Reason = {
  reason: "entity",
  message: "The entity of the token is disabled or was deleted.",
};
export const NAMESPACE: Reason = {
  reason: "namespace",
  message: "There is no such namespace: the only one is the root.",
};
export const NO_TOKEN_NEEDED: Reason = {
  reason: "no_token_needed",
  message: "The endpoint needs no token: no policy is asked.",
};
export const ROOT: Reason = { reason: "root", message: "The root policy allows everything." };
export const OF_TEAM: Reason = {
  reason: "team",
  message: "The token of a team may look at itself and its team, and that of the owners may manage their organization.",
};

/** Added to a refusal by the policies. */
export const UNSERVED = "No endpoint serves the request, either: see path-help.";

/** Returns the reason when the policies allow a request that no endpoint serves. */
export function unservedReason(code: string): Reason {
  const words =
    code === "unsupported_operation"
      ? "The policies allow it, but the endpoint does not have this operation."
      : "The policies allow it, but no endpoint serves this path.";
  return { reason: code, message: words };
}

/** Returns the reason that a rule gives. */
export function ruleReason(step: Step): Reason {
  const { refusal } = step;
  const rule = ruleWords(step);
  switch (refusal?.kind) {
    case undefined:
      return { reason: "granted", message: `${rule} allows it.` };
    case "no_rule":
      return {
        reason: "no_rule",
        message: `No rule of the policies matches the path. Missing: ${refusal.missing.join(" or ")}.`,
      };
    case "capability":
      return { reason: "capability", message: `${rule} lacks ${refusal.missing.join(" or ")}.` };
    case "deny":
      return { reason: "deny", message: `${rule} denies it.` };
    case "sudo":
      return { reason: "sudo", message: `The path needs sudo besides, which ${rule} lacks.` };
    case "wrapping":
      return { reason: "wrapping", message: `${rule} allows it only with ${wrappingWords(step)}.` };
    case "page":
      return {
        reason: "page",
        message: `${rule} allows pages of ${step.grant?.paginationLimit ?? 0} entries at most.`,
      };
    case "parameter":
      return { reason: `parameter_${refusal.problem}`, message: `${rule} ${parameterWords(refusal)}.` };
  }
}

function ruleWords({ grant }: Step): string {
  const policies = [...new Set(grant?.sources.map(({ policy }) => policy))];
  return `The rule ${grant?.pattern.text ?? ""}${grant?.pattern.open ? "*" : ""} (${policies.join(", ")})`;
}

function wrappingWords({ grant }: Step): string {
  const { minWrappingTtlSeconds: min = null, maxWrappingTtlSeconds: max = null } = grant ?? {};
  const bounds = [...(min === null ? [] : [`at least ${min}s`]), ...(max === null ? [] : [`at most ${max}s`])];
  return `a wrapped answer whose wrap TTL is ${bounds.join(" and ")}`;
}

function parameterWords({ problem, name }: Extract<Step["refusal"], { kind: "parameter" }>): string {
  switch (problem) {
    case "required":
      return `requires the parameter ${JSON.stringify(name)}`;
    case "denied":
      return name === "*" ? "denies every parameter" : `denies the parameter ${JSON.stringify(name)} or its value`;
    case "not_allowed":
      return `does not allow the parameter ${JSON.stringify(name)} or its value`;
  }
}
