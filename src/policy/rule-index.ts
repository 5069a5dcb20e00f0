import { PrefixIndex } from "../base/prefix-index.ts";
import { type Grant, grantsAnything, mergeRules, type SourcedRule } from "./merged-rules.ts";
import { decidesBefore, type Pattern, parsePattern } from "./pattern.ts";

interface Node {
  readonly literals: Map<string, Node>;
  wildcard: Node | null;
  /** The grant of the rule without `*` that ends at this node. */
  closed: Grant | null;
  /** Grants of rules that end in `*`, by the prefix of the segment after this node. */
  readonly open: Map<string, Grant>;
  openIndex: PrefixIndex<Grant> | null;
}

/** A trie of the rules with `+` segments. A look-up visits only nodes that match the path so far. */
class SegmentTrie {
  readonly #root = emptyNode();
  /** The number of segments of the longest rule. */
  #depth = 0;

  /** Adds a grant whose pattern is of kind `segments`. A pattern is added once. */
  add(grant: Grant): void {
    const segments = grant.pattern.text.split("/");
    this.#depth = Math.max(this.#depth, segments.length);
    const begin = grant.pattern.open ? (segments.pop() ?? "") : null;
    let node = this.#root;
    for (const segment of segments) node = childOf(node, segment);
    if (begin === null) node.closed = grant;
    else node.open.set(begin, grant);
  }

  /**
   * Calls `found` for rules that match `path`: every rule without `*`, and for each node the longest rule with `*`,
   * which decides before the node's others. Uses an explicit stack, since a rule may have very many segments.
   */
  match(path: string, found: (grant: Grant) => void): void {
    if (this.#depth === 0) return;
    // One segment more than the longest rule shows that the path is longer.
    const segments = path.split("/", this.#depth + 1);
    const pending = [{ node: this.#root, depth: 0 }];
    for (let place = pending.pop(); place; place = pending.pop()) {
      const { node, depth } = place;
      const segment = segments[depth];
      if (segment === undefined) {
        if (node.closed !== null) found(node.closed);
        continue;
      }
      if (node.open.size > 0) {
        node.openIndex ??= new PrefixIndex(node.open);
        const open = node.openIndex.longest(segment);
        if (open !== undefined) found(open);
      }
      const literal = node.literals.get(segment);
      if (literal) pending.push({ node: literal, depth: depth + 1 });
      if (node.wildcard) pending.push({ node: node.wildcard, depth: depth + 1 });
    }
  }
}

function emptyNode(): Node {
  return { literals: new Map(), wildcard: null, closed: null, open: new Map(), openIndex: null };
}

function childOf(node: Node, segment: string): Node {
  const child = (segment === "+" ? node.wildcard : node.literals.get(segment)) ?? emptyNode();
  if (segment === "+") node.wildcard = child;
  else node.literals.set(segment, child);
  return child;
}

/**
 * Every grant of a set of policies, found by path. A look-up costs one probe of a map, one binary search and a walk
 * along the `+` rules that match; rules that do not match cost nothing.
 */
export class RuleIndex {
  readonly #exact = new Map<string, Grant>();
  readonly #prefixes: PrefixIndex<Grant>;
  readonly #segments = new SegmentTrie();
  /** The denies for rules whose templates can't be resolved, which decide before all others; null for none. */
  readonly #unresolved: RuleIndex | null;
  /** All grants, in no particular order. */
  readonly grants: readonly Grant[];

  constructor(rules: readonly SourcedRule[]) {
    const prefixes = new Map<string, Grant>();
    const unresolved = rules.filter(({ isUnresolved }) => isUnresolved);
    this.#unresolved =
      unresolved.length === 0 ? null : new RuleIndex(unresolved.map(({ isUnresolved: _, ...rule }) => rule));
    const resolved = unresolved.length === 0 ? rules : rules.filter(({ isUnresolved }) => !isUnresolved);
    const sourcesByPath = Map.groupBy(resolved, ({ rule }) => rule.path);
    const grants = [...sourcesByPath].map(([path, sources]) => mergeRules(parsePattern(path), sources));
    this.grants = this.#unresolved ? [...grants, ...this.#unresolved.grants] : grants;
    for (const grant of grants) {
      const { kind, text } = grant.pattern;
      if (kind === "exact") this.#exact.set(text, grant);
      else if (kind === "prefix") prefixes.set(text, grant);
      else this.#segments.add(grant);
    }
    this.#prefixes = new PrefixIndex(prefixes);
  }

  /**
   * The one grant that decides about `path`, or undefined when no rule matches. An exact rule takes precedence over
   * patterns. A listing (`listing`) also tries the path without its trailing slash, in each case after the path with
   * the slash. So a listing of a folder does not evade a rule for the paths below the folder. Nor does it evade a
   * pattern with `deny` for the folder itself that takes precedence.
   */
  find(path: string, listing: boolean): Grant | undefined {
    const unresolved = this.#unresolved?.find(path, listing);
    if (unresolved) return unresolved;
    if (!listing || !path.endsWith("/")) return this.#exact.get(path) ?? this.#findPattern(path);
    const bare = path.slice(0, -1);
    const exact = this.#exact.get(path) ?? this.#exact.get(bare);
    if (exact) return exact;
    const below = this.#findPattern(path);
    const itself = this.#findPattern(bare);
    const evaded = itself?.capabilities.has("deny") && below && decidesBefore(itself.pattern, below.pattern);
    return evaded ? itself : (below ?? itself);
  }

  #findPattern(path: string): Grant | undefined {
    let best = this.#prefixes.longest(path);
    this.#segments.match(path, (grant) => {
      if (!best || decidesBefore(grant.pattern, best.pattern)) best = grant;
    });
    return best;
  }

  /** True when anything is granted on the mount at `mountPath` (which ends in `/`), or by a rule for paths below it. */
  grantsAnythingUnder(mountPath: string): boolean {
    const onMount = this.find(mountPath, true);
    if (onMount && grantsAnything(onMount)) return true;
    return this.grants.some((grant) => grantsAnything(grant) && reachesUnder(grant.pattern, mountPath));
  }
}

/** True when the rule is for the path of the mount without its slash, or for a path below the mount. */
function reachesUnder(pattern: Pattern, mountPath: string): boolean {
  const segments = pattern.text.split("/");
  const mount = mountPath.split("/").slice(0, -1);
  return mount.every((name, index) => segments[index] === "+" || segments[index] === name);
}
