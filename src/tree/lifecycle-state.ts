import { type Life, NEW_TREE, next, type TreeEvent } from "./lifecycle.ts";

/** Where the tree of an object is in its life cycle. */
export class TreeLife {
  #now: Life = NEW_TREE;

  get now(): Life {
    return this.#now;
  }

  happened(event: TreeEvent): void {
    this.#now = next(this.#now, event);
  }
}
