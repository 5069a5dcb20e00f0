import { type Grant, grantsAnything, mergeRules, type SourcedRule } from "./grant.ts";
import { decidesBefore, type Pattern, parsePattern } from "./pattern.ts";
import { PrefixIndex } from "./prefix-index.ts";
import { SegmentTrie } from "./segment-trie.ts";

/**
 * Every grant of a set of policies, found by path. A look-up costs one probe of a map, one binary search and a walk
 * along the `+` rules that match; rules that do not match cost nothing.
 */
export class RuleIndex {
  readonly #exact = new Map<string, Grant>();
  readonly #prefixes: PrefixIndex<Grant>;
  readonly #segments = new SegmentTrie<Grant>();
  readonly #grants: Grant[] = [];

  constructor(rules: Iterable<SourcedRule>) {
    const prefixes = new Map<string, Grant>();
    for (const [path, sources] of groupByPath(rules)) {
      const pattern = parsePattern(path);
      const grant = mergeRules(pattern, sources);
      this.#grants.push(grant);
      if (pattern.kind === "exact") this.#exact.set(pattern.text, grant);
      else if (pattern.kind === "prefix") prefixes.set(pattern.text, grant);
      else this.#segments.add(pattern, grant);
    }
    this.#prefixes = new PrefixIndex(prefixes);
  }

  /** All grants, in no particular order. */
  get grants(): readonly Grant[] {
    return this.#grants;
  }

  /**
   * The one grant that decides about `path`, or undefined when no rule matches. An exact rule goes before all others.
   * For a listing (`listing`) a rule without the trailing slash counts too, after the rules with it: a rule for what is
   * below a folder must not be dodged by listing the folder.
   */
  find(path: string, listing: boolean): Grant | undefined {
    const bare = listing && path.endsWith("/") ? path.slice(0, -1) : null;
    return (
      this.#exact.get(path) ??
      (bare === null ? undefined : this.#exact.get(bare)) ??
      this.#findPattern(path) ??
      (bare === null ? undefined : this.#findPattern(bare))
    );
  }

  #findPattern(path: string): Grant | undefined {
    let best = this.#prefixes.longest(path);
    this.#segments.match(path, (grant) => {
      if (!best || decidesBefore(grant.pattern, best.pattern)) best = grant;
    });
    return best;
  }

  /** True when something is granted on the mount at `mountPath` (which ends in `/`) or by a rule for a path below it. */
  grantsAnythingUnder(mountPath: string): boolean {
    const onMount = this.find(mountPath, true);
    if (onMount && grantsAnything(onMount)) return true;
    return this.#grants.some((grant) => grantsAnything(grant) && reachesUnder(grant.pattern, mountPath));
  }
}

function groupByPath(rules: Iterable<SourcedRule>): Map<string, SourcedRule[]> {
  const groups = new Map<string, SourcedRule[]>();
  for (const sourced of rules) {
    const group = groups.get(sourced.rule.path);
    if (group) group.push(sourced);
    else groups.set(sourced.rule.path, [sourced]);
  }
  return groups;
}

/** True when the rule is about the mount itself, without its slash, or about a path below it. */
function reachesUnder(pattern: Pattern, mountPath: string): boolean {
  const segments = pattern.text.split("/");
  const mount = mountPath.split("/").slice(0, -1);
  return mount.every((name, index) => segments[index] === "+" || segments[index] === name);
}
