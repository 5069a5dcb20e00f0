import type { Caller } from "../auth/caller.ts";
import type { Failure } from "../base/result.ts";
import { ENTITY_PROBLEMS, type EntityProblem } from "../identity/entity-copies.ts";
import type { AccessRequest, Step, Verdict } from "../policy/acl.ts";
import { patternText } from "../policy/pattern.ts";

/** The reason for a decision: a code for programs, and a sentence. */
export interface Reason {
  readonly reason: string;
  readonly message: string;
}

const MESSAGES = {
  token_unknown: "This installation did not make the token or accessor.",
  token_expired: "The token has expired.",
  token_revoked: "The token was revoked.",
  token_spent: "The token has made its last use.",
  token_ended_together: "The token was revoked together with all others of its mount, role or installation.",
  token_parent_ended: "A token above it has ended, and it with that.",
  token_gone: "Nothing is stored of the token any more: it has expired or was revoked.",
  address: "The token is bound to networks (token_bound_cidrs), and the address of the client is in none of them.",
  entity: "The entity of the token is disabled, was deleted or was tampered with.",
  namespace: "There is no such namespace: the only one is the root.",
  no_token_needed: "The endpoint needs no token: no policy is asked.",
  root: "The root policy allows everything.",
  unsupported_operation: "The policies allow it, but the endpoint does not have this operation.",
  unserved: "The policies allow it, but no endpoint serves this path.",
} as const;

/** Returns the reason why a request that the policies allow gets no answer. */
export function unserved({ code }: Failure): Reason {
  return { reason: code, message: code === "unsupported_operation" ? MESSAGES[code] : MESSAGES.unserved };
}

/** Returns the reason for a decision that no rule made. */
export function plainReason(reason: keyof typeof MESSAGES): Reason {
  return { reason, message: MESSAGES[reason] };
}

/** Returns the reason for a refusal of every request, because of the entity of the token. */
export function ofEntity(problem: EntityProblem): Reason {
  return { reason: "entity", message: `The token is refused: ${ENTITY_PROBLEMS[problem]}.` };
}

/** Follows the reason of a refusal where the request would get no answer anyway. */
export const ALSO_UNSERVED = "No endpoint serves the request, either: see path-help.";

/** Returns the reason for a decision. Without a verdict the policies refuse; without a step no rule decided. */
export function reasonOf(
  step: Step | null,
  verdict: Verdict | null,
  { operation }: AccessRequest,
  caller: Caller,
): Reason {
  if (!step) {
    const isOwn = caller.kind === "registered" && !verdict?.isRoot;
    return isOwn ? { reason: caller.type, message: caller.ownRights } : plainReason("root");
  }
  const { refusal } = step;
  const reason = refusal?.kind === "parameter" ? `parameter_${refusal.problem}` : (refusal?.kind ?? "granted");
  const message = ruleMessage(step);
  if (!verdict || operation !== "create_or_update" || verdict.create === verdict.update) return { reason, message };
  const half = verdict.create
    ? "create what is not there, and change nothing"
    : "change what is there, and create nothing";
  return { reason, message: `${message} It may ${half}.` };
}

function ruleMessage(step: Step): string {
  const { refusal } = step;
  const rule = ruleWords(step);
  switch (refusal?.kind) {
    case undefined:
      return `${rule} allows it.`;
    case "no_rule":
      return `No rule of the policies matches the path. Missing: ${refusal.missing.join(" or ")}.`;
    case "capability":
      return `${rule} lacks ${refusal.missing.join(" or ")}.`;
    case "deny":
      return `${rule} denies it.`;
    case "sudo":
      return `${rule} lacks sudo, which the path needs besides.`;
    case "wrapping":
      return `${rule} allows it only with ${wrappingWords(step)}.`;
    case "page":
      return `${rule} allows pages of ${step.grant?.paginationLimit ?? 0} entries at most.`;
    case "parameter":
      return `${rule} ${parameterWords(refusal)}.`;
  }
}

function ruleWords({ grant }: Step): string {
  const policies = [...new Set(grant?.sources.map(({ policy }) => policy))];
  return `The rule ${grant ? patternText(grant.pattern) : ""} (${policies.join(", ")})`;
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
