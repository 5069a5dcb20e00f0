import type { Pattern } from "./pattern.ts";
import { PrefixIndex } from "./prefix-index.ts";

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
export class SegmentTrie<T> {
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
