import type { Ms, Seconds } from "../base/clock.ts";
import { ok } from "../base/result.ts";
import { type Grant, listCapabilities, type SourcedRule } from "./merged-rules.ts";
import { isListing, NEEDED, type Operation, requiresSudo } from "./operation.ts";
import { pageLimit } from "./pagination-limit.ts";
import { type ParameterMap, type ParameterRefusal, parameterRefusal } from "./parameters.ts";
import { NO_NAME, rulesInLowerCase, type Spelling, withCanonicalPath, withNameInLowerCase } from "./path-spellings.ts";
import { hasForbiddenWildcards } from "./pattern.ts";
import type { Capability, NamedPolicy, PathRule } from "./rule.ts";
import { RuleIndex } from "./rule-index.ts";
import { resolveTemplates, type TemplateContext } from "./template.ts";
import { wrappingPermits } from "./wrapping-ttl.ts";

/** The properties of a request that policies check. */
export interface AccessRequest {
  readonly operation: Operation;
  /** Without the base path `/v1/`. The path of a list or scan ends in `/`. */
  readonly path: string;
  /** Second path of the resource, whose rules grant as well. Rules of other spellings (`path-spellings.ts`) only deny. */
  readonly alternatePath?: string | undefined;
  /** Further paths of the resource, or of what it belongs to, whose rules only deny. Absent: none. */
  readonly denialPaths?: readonly string[];
  /** Path of the auth mount that serves `path`, with a slash at the end (`auth/…/`); absent: none. */
  readonly mount?: string | undefined;
  /** Fields of the body or of the query. For a list or scan only `limit` is checked. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** TTL of the requested response wrapping; absent without wrapping. */
  readonly wrapTtlSeconds?: Seconds;
}

/** The paths of the requested resource besides the one of the request. */
export type OtherPaths = Pick<AccessRequest, "alternatePath" | "denialPaths">;

/** The decision of the policies about one request. */
export interface Verdict {
  readonly allowed: boolean;
  readonly isRoot: boolean;
  /** True when the deciding rule has `sudo`, whether or not it allows the operation. */
  readonly sudo: boolean;
  /** For a write: true when it may create its target. */
  readonly create: boolean;
  /** For a write: true when it may change an existing target. */
  readonly update: boolean;
  /** For a list or scan: the `limit` that replaces that of the request, 0 for none; null keeps that of the request. */
  readonly limit: number | null;
}

/** The verdict when no rule allows the operation. */
export const REFUSED: Verdict = {
  allowed: false,
  isRoot: false,
  sudo: false,
  create: false,
  update: false,
  limit: null,
};

const ROOT: Verdict = {
  ...REFUSED,
  allowed: true,
  isRoot: true,
  sudo: true,
  create: true,
  update: true,
};

const NO_PAGE = ok(null);

/** The compiled rules of a set of policies. Made by `compileAcl`. */
export class Acl {
  /** True for the root policy: everything is allowed. */
  readonly isRoot: boolean;
  /** True when at least one rule has `deny`. */
  readonly deniesAnything: boolean;
  readonly #rules: readonly SourcedRule[];
  #index = new RuleIndex([]);
  #alive: readonly SourcedRule[] = [];
  /** Indexes with case-insensitive names in lower case, by the number of path segments before the name. */
  readonly #inLowerCase = new Map<number, RuleIndex>();
  /** `#index` is valid from `#validFrom` to `#validUntil`, both included. */
  #validFrom: Ms = Number.POSITIVE_INFINITY;
  #validUntil: Ms = Number.NEGATIVE_INFINITY;

  constructor(isRoot: boolean, rules: readonly SourcedRule[]) {
    this.isRoot = isRoot;
    this.#rules = rules.map(withCanonicalPath);
    this.deniesAnything = rules.some(({ rule }) => rule.capabilities.includes("deny"));
  }

  /**
   * Evaluates the rules for the path of a request at `now`: the capability of its operation, the limits of the
   * deciding rule, and on a protected path `sudo` as well. The other paths of the resource are evaluated by `evaluateAcl`.
   *
   * @param trace receives the deciding step. Not called when no rule is evaluated: for root and for `help`.
   */
  check(request: AccessRequest, now: Ms, trace?: Trace): Verdict {
    const { operation } = request;
    const listing = isListing(operation);
    const data = request.data ?? {};
    if (this.isRoot) {
      const page = listing ? pageLimit(null, [], data) : null;
      return page?.ok ? { ...ROOT, limit: page.value } : ROOT;
    }
    if (operation === "help") return { ...REFUSED, allowed: true };
    const grant = this.find(request.path, listing, now);
    const page = listing && grant ? pageLimit(grant.paginationLimit, grant.parameters.required, data) : NO_PAGE;
    const given = NEEDED[operation].filter((capability) => grant?.capabilities.has(capability));
    const refusal = refusalOf(grant, request, given, page.ok);
    trace?.({ path: request.path, grant, refusal });
    const refused = grant?.capabilities.has("sudo") ? { ...REFUSED, sudo: true } : REFUSED;
    if (!grant || refusal) return refused;
    return {
      allowed: true,
      isRoot: false,
      sudo: refused.sudo,
      create: given.includes("create"),
      update: given.includes("update"),
      limit: page.ok ? page.value : null,
    };
  }

  /**
   * The capabilities of a caller on `path` at `now`: a sorted list, `["root"]` or `["deny"]`. Evaluated as a
   * listing, so that `a/` falls back to the rule for `a`. Limits on parameters and wrapping are ignored.
   */
  capabilities(path: string, now: Ms): string[] {
    if (this.isRoot) return ["root"];
    return listCapabilities(this.find(path, true, now));
  }

  /** The grant that decides about `path` at `now`; null when no rule matches. */
  find(path: string, listing: boolean, now: Ms): Grant | null {
    return this.#indexAt(now).find(withoutLeadingSlashes(path), listing) ?? null;
  }

  /**
   * The grant with `deny` that decides about a spelling of the path of a request at `now`, or null. Both are compared
   * in canonical form: a case-insensitive name is in lower case.
   */
  denialOf({ path, nameAt }: Spelling, now: Ms): Grant | null {
    const index = nameAt === NO_NAME ? this.#indexAt(now) : this.#inLowerCaseAt(nameAt, now);
    const grant = index.find(withNameInLowerCase(path, nameAt), true);
    return grant?.capabilities.has("deny") ? grant : null;
  }

  /** Returns an ACL with these rules and those of one more policy. */
  with({ name, rules }: NamedPolicy): Acl {
    const added = rules.map((rule) => ({ policy: name, rule, writtenPath: rule.path }));
    return new Acl(this.isRoot, [...this.#rules, ...added]);
  }

  /** True when anything is granted on the mount at `mountPath` (which ends in `/`) or below it at `now`. */
  grantsAnythingUnder(mountPath: string, now: Ms): boolean {
    return this.isRoot || this.#indexAt(now).grantsAnythingUnder(mountPath);
  }

  /** Every grant at `now`. Empty for root, which needs none. */
  grants(now: Ms): readonly Grant[] {
    return this.#indexAt(now).grants;
  }

  /** The index without the rules that have expired; built again only when `now` passes an expiry. */
  #indexAt(now: Ms): RuleIndex {
    if (now < this.#validFrom || now > this.#validUntil) {
      const alive = this.#rules.filter(({ rule }) => rule.expiresAt === undefined || now <= rule.expiresAt);
      this.#index = new RuleIndex(alive);
      this.#alive = alive;
      this.#inLowerCase.clear();
      this.#validFrom = now;
      this.#validUntil = alive.reduce((until, { rule }) => Math.min(until, rule.expiresAt ?? until), Infinity);
    }
    return this.#index;
  }

  #inLowerCaseAt(nameAt: number, now: Ms): RuleIndex {
    const written = this.#indexAt(now);
    const known = this.#inLowerCase.get(nameAt);
    if (known) return known;
    const rules = rulesInLowerCase(this.#alive, nameAt);
    const index = rules ? new RuleIndex(rules) : written;
    this.#inLowerCase.set(nameAt, index);
    return index;
  }
}

/**
 * Compiles policies for one caller. Templates are resolved here from `context`. A rule with a template that can't be
 * resolved is left out if it only grants. If it takes something away, it becomes a deny for the prefix of its path
 * before the template, which overrides all other rules: a caller must not evade it by choosing a value that can't be
 * inserted. If no policy uses templates (`usesTemplates`), the result serves every caller.
 */
export function compileAcl(policies: readonly NamedPolicy[], context: TemplateContext): Acl {
  if (policies.some((policy) => policy.name === "root")) return new Acl(true, []);
  const rules: SourcedRule[] = [];
  for (const policy of policies) {
    for (const rule of policy.rules) {
      const path = resolveTemplates(rule.path, context, policy);
      const source = { policy: policy.name, writtenPath: rule.path };
      if (path !== null && (path === rule.path || !hasForbiddenWildcards(path))) {
        rules.push({ ...source, rule: path === rule.path ? rule : { ...rule, path } });
      } else if (takesAway(rule)) {
        rules.push({ ...source, rule: denyBefore(rule), isUnresolved: true });
      }
    }
  }
  return new Acl(false, rules);
}

/** True for a rule that can refuse what a wider rule grants: by `deny`, by a limit, or because it grants nothing. */
function takesAway({ path: _, expiresAt: __, capabilities, ...limits }: PathRule): boolean {
  return capabilities.length === 0 || capabilities.includes("deny") || Object.keys(limits).length > 0;
}

/** Returns a deny for all paths that begin like the path of a rule before its first template. */
function denyBefore({ path, expiresAt }: PathRule): PathRule {
  const literal = path.slice(0, path.indexOf("{{")).replace(/\+$/, "");
  return { path: `${literal}*`, capabilities: ["deny"], ...(expiresAt !== undefined && { expiresAt }) };
}

function withoutLeadingSlashes(path: string): string {
  let start = 0;
  while (path.charAt(start) === "/") start++;
  return start === 0 ? path : path.slice(start);
}

/** Reason why the deciding grant refuses a request; null when it permits the request. */
function refusalOf(
  grant: Grant | null,
  { operation, path, data = {}, wrapTtlSeconds }: AccessRequest,
  given: readonly Capability[],
  pagePermits: boolean,
): AclRefusal | null {
  const needed = NEEDED[operation];
  if (!grant) return { kind: "no_rule", missing: needed };
  if (grant.capabilities.has("deny")) return { kind: "deny" };
  if (given.length === 0) return { kind: "capability", missing: needed };
  if (!wrappingPermits(grant, wrapTtlSeconds)) return { kind: "wrapping" };
  if (isListing(operation)) {
    if (!pagePermits) return { kind: "page" };
  } else if (operation !== "delete") {
    const refusal = parameterRefusal(grant.parameters, data);
    if (refusal) return refusal;
  }
  return !grant.capabilities.has("sudo") && requiresSudo(operation, path) ? { kind: "sudo", needed } : null;
}

/** Why the rules refuse a request. */
type AclRefusal =
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
  readonly refusal: AclRefusal | null;
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

/**
 * The rules of a caller that are valid at `now`, by path, in the form of the answer of
 * `sys/internal/ui/resultant-acl`. Prefix rules are without their `*`. Leaves out rules with `+`.
 */
export function resultantAcl(acl: Acl, now: Ms) {
  if (acl.isRoot) return { root: true as const };
  const grants = acl.grants(now);
  return { root: false as const, exact_paths: summarize(grants, "exact"), glob_paths: summarize(grants, "prefix") };
}

function summarize(grants: readonly Grant[], kind: Grant["pattern"]["kind"]) {
  const chosen = grants.filter(({ pattern }) => pattern.kind === kind);
  return Object.fromEntries(chosen.map((grant) => [grant.pattern.text, summary(grant)]));
}

function summary(grant: Grant) {
  const { minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, parameters } = grant;
  return {
    capabilities: listCapabilities(grant),
    ...(min !== null && { min_wrapping_ttl: min }),
    ...(max !== null && { max_wrapping_ttl: max }),
    ...(hasEntries(parameters.allowed) && { allowed_parameters: Object.fromEntries(parameters.allowed) }),
    ...(hasEntries(parameters.denied) && { denied_parameters: Object.fromEntries(parameters.denied) }),
    ...(parameters.required.length > 0 && { required_parameters: parameters.required }),
  };
}

function hasEntries(map: ParameterMap | null): map is ParameterMap {
  return map !== null && map.size > 0;
}
