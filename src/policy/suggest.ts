import { formatRfc3339, type Ms, type Seconds } from "../base/clock.ts";
import { escapeUnprintable } from "../base/misleading-characters.ts";
import { type AccessRequest, type Acl, decisiveStep, type Step } from "./acl.ts";
import { evaluateAcl } from "./evaluate.ts";
import type { Grant } from "./merged-rules.ts";
import { isListing } from "./operation.ts";
import type { ParameterMap, ParameterRefusal } from "./parameters.ts";
import { parsePolicy } from "./parse.ts";
import { parsePattern } from "./pattern.ts";
import { CAPABILITIES, type Capability, type ParameterRule, type PathRule } from "./rule.ts";

/** Prints rules as a policy in HCL. HCL has no null, so a text with null in the value of a parameter does not parse. */
export function printRules(rules: readonly PathRule[]): string {
  return rules.map(printRule).join("\n");
}

function printRule(rule: PathRule): string {
  const { expiresAt, minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, paginationLimit: page } = rule;
  const settings = [
    ["capabilities", literal(rule.capabilities)],
    ...(rule.allowedParameters ? [["allowed_parameters", parameters(rule.allowedParameters)]] : []),
    ...(rule.deniedParameters ? [["denied_parameters", parameters(rule.deniedParameters)]] : []),
    ...(rule.requiredParameters ? [["required_parameters", literal(rule.requiredParameters)]] : []),
    ...(min === undefined ? [] : [["min_wrapping_ttl", literal(`${min}s`)]]),
    ...(max === undefined ? [] : [["max_wrapping_ttl", literal(`${max}s`)]]),
    ...(page === undefined ? [] : [["pagination_limit", literal(page)]]),
    ...(expiresAt === undefined ? [] : [["expiration", literal(formatRfc3339(expiresAt))]]),
  ];
  return `path ${literal(rule.path)} {\n${settings.map(([key, value]) => `  ${key} = ${value}\n`).join("")}}\n`;
}

function parameters(list: readonly ParameterRule[]): string {
  if (list.length === 0) return "{}";
  return `{\n${list.map(({ name, values }) => `    ${literal(name)} = ${literal(values)}\n`).join("")}  }`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return escapeUnprintable(JSON.stringify(value), escapeInHcl);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${literal(key)} = ${literal(item)}`)
    .join(", ")} }`;
}

function escapeInHcl(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** Maximum number of changes to the suggested rule. Each removes one refusal. There is at most one per parameter. */
const MAX_ATTEMPTS = 100;
const LISTING: readonly Capability[] = ["list", "scan"];

/**
 * Returns a policy in HCL that allows a refused request when it is added to the other policies of the token; null when
 * no added policy helps, for example against a `deny` on the path itself. Its rules are for the path of the request
 * and, where needed, for the listing of that path. If the deciding rule covers more paths, the new rule replaces it on
 * this path: it repeats the grant with the least change. So the token loses nothing and gets access to no other path.
 *
 * A missing `sudo` is added to an existing rule for this exact path, and so makes all its capabilities usable. The
 * values of the request's parameters are not in the text: a parameter is allowed with any value.
 */
export function suggestPolicy(acl: Acl, request: AccessRequest, now: Ms): string | null {
  const path = request.path.replace(/^\/+/, "");
  if (parsePattern(path).kind !== "exact" || path.includes("{{")) return null;
  const [start, ...kept] = rulesAt(acl, path, request, now);
  let rule: PathRule | null = start;
  for (let attempt = 0; rule && attempt < MAX_ATTEMPTS; attempt++) {
    const rules = [rule, ...kept];
    const step = refusalBy(acl, rules, request, now);
    if (!step) {
      const text = printRules(rules);
      const parsed = parsePolicy(text, now);
      return parsed.ok && !refusalBy(acl, parsed.value, request, now) ? text : null;
    }
    rule = step.path === request.path ? amended(rule, step, request) : null;
  }
  return null;
}

/** The step that still refuses the request when these rules are added; null when the request is allowed. */
function refusalBy(acl: Acl, rules: readonly PathRule[], request: AccessRequest, now: Ms): Step | null {
  const steps: Step[] = [];
  const { allowed } = evaluateAcl(acl.with({ name: "", rules }), request, now, (step) => steps.push(step));
  return allowed ? null : decisiveStep(steps, allowed);
}

/**
 * Returns rules that change no decision when they are added: one for the path, and one for its listing when another
 * rule decides about the listing. The first rule would take precedence over that one.
 */
function rulesAt(acl: Acl, path: string, { operation }: AccessRequest, now: Ms): [PathRule, ...PathRule[]] {
  const listed = isListing(operation);
  const grant = acl.find(path, listed, now);
  if (grant && isFor(grant, path)) return [{ path, capabilities: [] }];
  if (listed) {
    const isAll = acl.find(path, false, now) === grant;
    return [ruleOf(path, grant, (one) => isAll || one === "sudo" || LISTING.includes(one))];
  }
  const below = `${path}/`;
  const listing = acl.find(below, true, now);
  if (listing === grant) return [ruleOf(path, grant, () => true)];
  const rule = ruleOf(path, grant, (one) => !LISTING.includes(one));
  if (listing === null || isFor(listing, below)) return [rule];
  const denies = listing.capabilities.has("deny");
  return [rule, denies ? { path: below, capabilities: ["deny"] } : ruleOf(below, listing, () => true)];
}

function isFor({ pattern }: Grant, path: string): boolean {
  return pattern.kind === "exact" && pattern.text === path;
}

/** Repeats a grant as a rule for one path. It expires with the first of the rules that the grant is merged from. */
function ruleOf(path: string, grant: Grant | null, isKept: (capability: Capability) => boolean): PathRule {
  if (!grant) return { path, capabilities: [] };
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, paginationLimit, parameters } = grant;
  // Merged rules may have a minimum wrapping TTL above the maximum. They grant nothing then, and no text can say so.
  if (min !== null && max !== null && max < min) return { path, capabilities: [] };
  const ends = grant.sources.flatMap(({ rule }) => rule.expiresAt ?? []);
  const given = CAPABILITIES.filter((one) => one !== "deny" && grant.capabilities.has(one) && isKept(one));
  return {
    path,
    capabilities: given,
    ...(ends.length > 0 && { expiresAt: Math.min(...ends) }),
    ...(min !== null && { minWrappingTtlSeconds: min }),
    ...(max !== null && { maxWrappingTtlSeconds: max }),
    ...(parameters.allowed && { allowedParameters: listOf(parameters.allowed) }),
    ...(parameters.denied && { deniedParameters: listOf(parameters.denied) }),
    ...(parameters.required.length > 0 && { requiredParameters: parameters.required }),
    ...(paginationLimit !== null && { paginationLimit }),
  };
}

function listOf(map: ParameterMap): ParameterRule[] {
  return [...map].map(([name, values]) => ({ name, values }));
}

/** Changes the rule so that it no longer refuses the request; null when the refusal does not come from this rule. */
function amended(rule: PathRule, { refusal, grant }: Step, request: AccessRequest): PathRule | null {
  switch (refusal?.kind) {
    case "no_rule":
    case "capability":
      return refusal.missing.length > 0 ? withCapabilities(rule, refusal.missing) : null;
    case "sudo":
      // Capabilities that were granted here without `sudo` had no effect, and must not get one.
      return withCapabilities({ ...rule, capabilities: [] }, ["sudo", ...refusal.needed]);
    case "wrapping":
      return amendedWrapping(rule, grant, request.wrapTtlSeconds);
    case "page":
      return amendedPage(rule, request.data?.limit);
    case "parameter":
      return amendedParameters(rule, refusal, Object.keys(request.data ?? {}));
    default:
      return null;
  }
}

function withCapabilities(rule: PathRule, more: readonly Capability[]): PathRule {
  return {
    ...rule,
    capabilities: CAPABILITIES.filter((one) => rule.capabilities.includes(one) || more.includes(one)),
  };
}

function amendedWrapping(rule: PathRule, grant: Grant | null, asked: Seconds | undefined): PathRule | null {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, ...rest } = rule;
  if (asked === undefined) return min === undefined && max === undefined ? null : rest;
  if (grant?.minWrappingTtlSeconds != null && asked < grant.minWrappingTtlSeconds) {
    return min === asked ? null : { ...rule, minWrappingTtlSeconds: asked };
  }
  return max === undefined ? null : { ...rule, maxWrappingTtlSeconds: asked };
}

function amendedPage(rule: PathRule, asked: unknown): PathRule | null {
  const { paginationLimit, requiredParameters = [], ...rest } = rule;
  if (paginationLimit === undefined) return null;
  const limit = Number(asked);
  if (Number.isSafeInteger(limit) && limit > paginationLimit) return { ...rule, paginationLimit: limit };
  const required = requiredParameters.filter((name) => name !== "limit");
  return asked === undefined ? { ...rest, paginationLimit, requiredParameters: required } : rest;
}

function amendedParameters(
  rule: PathRule,
  { problem, name }: ParameterRefusal,
  sent: readonly string[],
): PathRule | null {
  const { allowedParameters: allowed = [], deniedParameters: denied = [], requiredParameters: required = [] } = rule;
  const key = name.toLowerCase();
  const others = (list: readonly ParameterRule[]) => list.filter((one) => one.name !== key);
  switch (problem) {
    case "required":
      return required.includes(name) ? { ...rule, requiredParameters: required.filter((one) => one !== name) } : null;
    case "not_allowed":
      return { ...rule, allowedParameters: [...others(allowed), { name: key, values: [] }] };
    case "denied": {
      if (!denied.some((one) => one.name === key)) return null;
      const lifted = { ...rule, deniedParameters: others(denied) };
      if (name !== "*") return lifted;
      const names = new Set(sent.map((one) => one.toLowerCase()));
      return { ...lifted, allowedParameters: [...names].map((one) => ({ name: one, values: [] })) };
    }
  }
}
