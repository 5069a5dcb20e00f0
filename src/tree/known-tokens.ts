import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { TokenAddress } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import type { TokenRow } from "./token-rows.ts";

/*
 * Live tokens that the Worker knows without a call to their tree, where one isolate runs the Worker and all trees. An
 * entry is valid until the tree changes anything that a look-up shows: the tree withdraws all its tokens in the same
 * step, before any client gets the answer. On the network a tree can run in another isolate, whose changes this one
 * does not see, so nothing is published there.
 */

/** Characters of the tokens of one generation of the cache: some fifteen thousand tokens, 20 MB. */
const MAX_KNOWN_CHARACTERS = 2 ** 23;
/** Trees with published tokens in one generation. */
const MAX_KNOWN_TREES = 2 ** 15;

interface Published {
  readonly verifier: Uint8Array;
  readonly view: TokenView;
  /** The tree's mark when this was published. */
  readonly mark: object;
  /** The watermarks that the tree checked it against. Other watermarks may end the token or an ancestor. */
  readonly watermarks: Watermarks;
  /** Expiry of the entry (ms); null: only a change of the tree ends it. */
  readonly until: number | null;
}

/** By tree and row. */
const tokens = new GenerationalCache<string, Published>(MAX_KNOWN_CHARACTERS);
/** The current mark of each tree. A token with another mark, or of a tree without one, is withdrawn. */
const marks = new GenerationalCache<string, object>(MAX_KNOWN_TREES);

let isPublishing = false;

/** True when trees of this deployment publish live tokens. */
export function publishesTokens(): boolean {
  return isPublishing;
}

/** Chooses whether trees of this deployment publish live tokens. */
export function publishTokens(chosen: boolean): void {
  isPublishing = chosen;
}

/**
 * The published token with this address and verifier, as its tree would show it at `now` (ms) under these watermarks.
 * null does not mean that it is dead: the caller then asks the tree. Tokens with limited uses or bound to networks are
 * never published.
 */
export function knownToken(
  { treeId, row, verifier }: TokenAddress & { readonly verifier: Uint8Array },
  watermarks: Watermarks,
  now: number,
): TokenView | null {
  const known = find(treeId, row, watermarks, now);
  return known && equalBytes(known.verifier, verifier) ? known.view : null;
}

/** True when the token of this row is published as alive at `now` (ms). False does not mean that it is dead. */
export function isKnownAlive(treeId: string, row: number, watermarks: Watermarks, now: number): boolean {
  return find(treeId, row, watermarks, now) !== null;
}

function find(treeId: string, row: number, watermarks: Watermarks, now: number): Published | null {
  const known = isPublishing ? tokens.get(keyOf(treeId, row)) : null;
  if (!known || known.mark !== marks.get(treeId) || known.watermarks !== watermarks) return null;
  return known.until === null || now < known.until ? known : null;
}

/** Publishes live tokens of one tree to the isolate. */
export class TokenPublisher {
  readonly #treeId: string;
  readonly #sync: () => Promise<void>;
  /** Number of changes so far, and of those that are on disk. */
  #changes = 0;
  #durable = 0;
  #syncing = false;

  /**
   * Withdraws the tokens that a previous instance of the object has published.
   *
   * @param sync resolves when everything that the tree wrote before is on disk.
   */
  constructor(treeId: string, sync: () => Promise<void>) {
    this.#treeId = treeId;
    this.#sync = sync;
    marks.forget(treeId);
  }

  /** Withdraws all tokens of the tree. Called in the step that ends a token or changes what a look-up shows. */
  changed(): void {
    this.#changes++;
    marks.forget(this.#treeId);
  }

  /**
   * Publishes a token that was found alive in this step.
   *
   * @param watermarks that the tree has checked it against.
   * @param aliveUntil returns when it, or an ancestor of it, expires if nothing changes (ms); null: never. Called only
   *   if the token is published.
   */
  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => number | null): void {
    if (!isPublishing || row.usesLeft !== 0 || view.boundCidrs.length > 0) return;
    // The runtime holds back an object's answers until its writes are on disk. It can't hold back the Worker's answers,
    // so a token is published only after that.
    if (this.#durable !== this.#changes) {
      this.#awaitDisk();
      return;
    }
    let mark = marks.get(this.#treeId);
    if (!mark) {
      mark = {};
      marks.set(this.#treeId, mark, 1);
    }
    const key = keyOf(this.#treeId, row.row);
    const until = aliveUntil();
    const previous = tokens.get(key);
    if (previous?.mark === mark && previous.watermarks === watermarks && previous.until === until) return;
    tokens.set(key, { mark, watermarks, verifier: row.fixed.verifier, view, until }, JSON.stringify(view).length);
  }

  #awaitDisk(): void {
    if (this.#syncing) return;
    this.#syncing = true;
    const changes = this.#changes;
    this.#sync().then(
      () => {
        this.#syncing = false;
        this.#durable = changes;
      },
      // The runtime ends an object whose writes fail.
      () => {},
    );
  }
}

function keyOf(treeId: string, row: number): string {
  return `${treeId}${row}`;
}
