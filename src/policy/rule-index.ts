import { PrefixIndex } from "../base/prefix-index.ts";
import { type Grant, grantsAnything, mergeRules, type SourcedRule } from "./grant.ts";
import { decidesBefore, type Pattern, parsePattern } from "./pattern.ts";

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  wildcard: Node<T> | null;
  /** The rule whose last segment ends here. */
  closed: T | null;
  /** Rules with a last `*`: what the segment after this node has to begin with. */
  readonly open: Map<string, T>;
  openIndex: PrefixIndex<T> | null;
}

/** Rules with `+` segments, as a tree of segments: a look-up visits only rules that match as far as it has read. */
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
   * Calls `found` for rules that match `path`: every closed one, and of the open ones at one place in the tree the
   * longest, which decides before the others. Keeps its own stack, since a path may have very many segments.
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

/** True when the rule is about the mount itself, without its slash, or about a path below it. */
function reachesUnder(pattern: Pattern, mountPath: string): boolean {
  const segments = pattern.text.split("/");
  const mount = mountPath.split("/").slice(0, -1);
  return mount.every((name, index) => segments[index] === "+" || segments[index] === name);
}
