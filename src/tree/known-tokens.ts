import type { Ms } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { TokenAddress } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import type { TokenRow } from "./token-rows.ts";

/** Characters of the tokens of one generation of the cache: some fifteen thousand tokens, 20 MB. */
const MAX_KNOWN_CHARACTERS = 2 ** 23;
const MAX_KNOWN_TREES = 2 ** 15;

/** Publishes live tokens of one tree to the isolate. */
export interface TokenPublisher {
  /** Withdraws all tokens of the tree. Called in the step that ends a token or changes what a look-up shows. */
  changed(): void;
  /**
   * Publishes a token that was found alive in this step and checked against `watermarks`. `aliveUntil` is called only
   * then, and returns when it, or an ancestor, expires if nothing changes; null: never.
   */
  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => Ms | null): void;
}

/** The live tokens that the Worker knows without a call to their tree. */
export interface KnownTokens {
  /**
   * The token of this row as its tree would show it at `now` under these watermarks. null does not mean that it is
   * dead: the caller then asks the tree. Tokens with limited uses or bound to networks are never published.
   */
  find(treeId: string, row: number, watermarks: Watermarks, now: Ms): Published | null;
  /** The publisher of a tree. @param sync resolves when everything that the tree wrote before is on disk. */
  publisherOf(treeId: string, sync: () => Promise<void>): TokenPublisher;
}

interface Published {
  readonly verifier: Uint8Array;
  readonly view: TokenView;
  readonly mark: object;
  /** The watermarks that the tree checked it against. Other watermarks may end the token or an ancestor. */
  readonly watermarks: Watermarks;
  /** Expiry of the entry; null: only a change of the tree ends it. */
  readonly until: Ms | null;
}

/** Publishes nothing. For the network, where a tree can run in another isolate, whose changes this one does not see. */
export const NO_KNOWN_TOKENS: KnownTokens = {
  find: () => null,
  publisherOf: () => ({ changed: () => {}, found: () => {} }),
};

interface Memory {
  readonly tokens: GenerationalCache<string, Published>;
  /** The current mark of each tree. A token with another mark, or of a tree without one, is withdrawn. */
  readonly marks: GenerationalCache<string, object>;
}

/**
 * Published tokens in the memory of an isolate that runs the Worker and all trees. An entry is valid until the tree
 * changes anything that a look-up shows: the tree withdraws all its tokens in the same step, before any client gets the
 * answer.
 */
export class SharedKnownTokens implements KnownTokens {
  readonly #memory: Memory = {
    tokens: new GenerationalCache<string, Published>(MAX_KNOWN_CHARACTERS),
    marks: new GenerationalCache<string, object>(MAX_KNOWN_TREES),
  };

  find(treeId: string, row: number, watermarks: Watermarks, now: Ms): Published | null {
    const known = this.#memory.tokens.get(keyOf(treeId, row));
    if (!known || known.mark !== this.#memory.marks.get(treeId) || known.watermarks !== watermarks) return null;
    return known.until === null || now < known.until ? known : null;
  }

  publisherOf(treeId: string, sync: () => Promise<void>): TokenPublisher {
    return new SharedPublisher(this.#memory, treeId, sync);
  }
}

class SharedPublisher implements TokenPublisher {
  readonly #memory: Memory;
  readonly #treeId: string;
  readonly #sync: () => Promise<void>;
  /** Number of changes so far, and of changes that are on disk. */
  #changes = 0;
  #durable = 0;
  #syncing = false;

  /** Withdraws the tokens that a previous instance of the object has published. */
  constructor(memory: Memory, treeId: string, sync: () => Promise<void>) {
    this.#memory = memory;
    this.#treeId = treeId;
    this.#sync = sync;
    memory.marks.forget(treeId);
  }

  changed(): void {
    this.#changes++;
    this.#memory.marks.forget(this.#treeId);
  }

  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => Ms | null): void {
    if (row.usesLeft !== 0 || view.boundCidrs.length > 0) return;
    // The runtime holds back an object's answers until its writes are on disk. It can't hold back the Worker's answers,
    // so a token is published only after that.
    if (this.#durable !== this.#changes) {
      this.#awaitDisk();
      return;
    }
    const { tokens, marks } = this.#memory;
    const known = marks.get(this.#treeId);
    const mark = known ?? {};
    if (!known) marks.set(this.#treeId, mark, 1);
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

/** The published token with this address and verifier; null when the tree has to be asked. */
export function knownToken(
  known: KnownTokens,
  { treeId, row, verifier }: TokenAddress & Pick<Published, "verifier">,
  watermarks: Watermarks,
  now: Ms,
): TokenView | null {
  const found = known.find(treeId, row, watermarks, now);
  return found && equalBytes(found.verifier, verifier) ? found.view : null;
}

function keyOf(treeId: string, row: number): string {
  return `${treeId}${row}`;
}
