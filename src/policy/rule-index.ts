import { PrefixIndex } from "../base/prefix-index.ts";
import { type Grant, grantsAnything, mergeRules, type SourcedRule } from "./grant.ts";
import { decidesBefore, type Pattern, parsePattern } from "./pattern.ts";

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  wildcard: Node<T> | null;
  /** The rule without `*` that ends at this node. */
  closed: T | null;
  /** Rules that end in `*`, by the prefix of the segment after this node. */
  readonly open: Map<string, T>;
  openIndex: PrefixIndex<T> | null;
}

/** A trie of the rules with `+` segments. A look-up visits only nodes that match the path so far. */
class SegmentTrie<T> {
  readonly #root: Node<T> = emptyNode();
  #size = 0;

  /** Adds the rule of `pattern`, which is of kind `segments`. A pattern is added once. */
  add(pattern: Pattern, value: T): void {
    const segments = pattern.text.split("/");
    const begin = pattern.open ? (segments.pop() ?? "") : null;
    let node = this.#root;
    for (const segment of segments) node = childOf(node, segment);
    if (begin === null) node.closed = value;
    else node.open.set(begin, value);
    this.#size++;
  }

  /**
   * Calls `found` for rules that match `path`: every rule without `*`, and for each node the longest rule with `*`,
   * which decides before the node's others. Uses an explicit stack, since a path may have very many segments.
   */
  match(path: string, found: (value: T) => void): void {
    if (this.#size === 0) return;
    const segments = path.split("/");
    const pending: { node: Node<T>; depth: number }[] = [{ node: this.#root, depth: 0 }];
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

function emptyNode<T>(): Node<T> {
  return { literals: new Map(), wildcard: null, closed: null, open: new Map(), openIndex: null };
}

function childOf<T>(node: Node<T>, segment: string): Node<T> {
  if (segment === "+") {
    node.wildcard ??= emptyNode();
    return node.wildcard;
  }
  let child = node.literals.get(segment);
  if (!child) {
    child = emptyNode();
    node.literals.set(segment, child);
  }
  return child;
}

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
    for (const [path, sources] of Map.groupBy(rules, ({ rule }) => rule.path)) {
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
   * The one grant that decides about `path`, or undefined when no rule matches. An exact rule takes precedence over
   * patterns. A listing (`listing`) also tries the path without its trailing slash, in each case after the path with
   * the slash. So a listing of a folder does not evade a rule for the paths below the folder.
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

  /** True when anything is granted on the mount at `mountPath` (which ends in `/`), or by a rule for paths below it. */
  grantsAnythingUnder(mountPath: string): boolean {
    const onMount = this.find(mountPath, true);
    if (onMount && grantsAnything(onMount)) return true;
    return this.#grants.some((grant) => grantsAnything(grant) && reachesUnder(grant.pattern, mountPath));
  }
}

/** True when the rule is for the path of the mount without its slash, or for a path below the mount. */
function reachesUnder(pattern: Pattern, mountPath: string): boolean {
  const segments = pattern.text.split("/");
  const mount = mountPath.split("/").slice(0, -1);
  return mount.every((name, index) => segments[index] === "+" || segments[index] === name);
}
