import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { TokenAddress } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import type { TokenRow } from "./token-rows.ts";

/** Characters of the tokens of one generation of the cache: some fifteen thousand tokens, 20 MB. */
const MAX_KNOWN_CHARACTERS = 2 ** 23;
/** Trees with published tokens in one generation. */
const MAX_KNOWN_TREES = 2 ** 15;

/** What proves that a client holds a token, and where that is stored. */
interface Credential extends TokenAddress {
  readonly verifier: Uint8Array;
}

/** Publishes live tokens of one tree to the isolate. */
export interface TokenPublisher {
  /** Withdraws all of them. Called in the step that changes what a look-up of any token of the tree shows, or ends one. */
  changed(): void;
  /**
   * Publishes a token that was found alive in this step.
   *
   * @param watermarks that the tree has checked it against.
   * @param aliveUntil when it, or an ancestor of it, expires if nothing changes (ms); null: never. Called only for what is
   *   published.
   */
  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => number | null): void;
}

/** The live tokens that the Worker knows without a call to their tree. */
export interface KnownTokens {
  /**
   * The token of this row as its tree would show it at `now` (ms) under these watermarks. null says nothing: the tree has to
   * be asked. Tokens with limited uses or bound to networks are never known.
   */
  find(treeId: string, row: number, watermarks: Watermarks, now: number): KnownToken | null;
  /** @param sync resolves when everything that the tree wrote before is on disk. */
  publisherOf(treeId: string, sync: () => Promise<void>): TokenPublisher;
}

/** A published token. */
export interface KnownToken {
  readonly verifier: Uint8Array;
  readonly view: TokenView;
}

interface Published extends KnownToken {
  /** The tree's mark when this was published. */
  readonly mark: object;
  /** The watermarks that the tree checked it against. Others may end it, or a token above it. */
  readonly watermarks: Watermarks;
  /** ms; null: it ends only by a change of the tree. */
  readonly until: number | null;
}

/** On the network a tree runs in another isolate, whose changes this one does not see: nothing is ever known. */
export const NO_KNOWN_TOKENS: KnownTokens = {
  find: () => null,
  publisherOf: () => ({ changed: () => {}, found: () => {} }),
};

/**
 * Where one isolate has the Worker and all trees, the Worker reads what a tree published. It holds until the tree changes
 * anything that a look-up shows: the tree withdraws all its tokens in the same step, before any client gets the answer.
 */
class SharedKnownTokens implements KnownTokens {
  /** By tree and row. */
  readonly tokens = new GenerationalCache<string, Published>(MAX_KNOWN_CHARACTERS);
  /** By tree. A token with another mark than its tree, or whose tree has none, is withdrawn. */
  readonly marks = new GenerationalCache<string, object>(MAX_KNOWN_TREES);

  find(treeId: string, row: number, watermarks: Watermarks, now: number): KnownToken | null {
    const known = this.tokens.get(keyOf(treeId, row));
    if (!known || known.mark !== this.marks.get(treeId) || known.watermarks !== watermarks) return null;
    return known.until === null || now < known.until ? known : null;
  }

  publisherOf(treeId: string, sync: () => Promise<void>): TokenPublisher {
    return new SharedPublisher(this, treeId, sync);
  }
}

class SharedPublisher implements TokenPublisher {
  readonly #known: SharedKnownTokens;
  readonly #treeId: string;
  readonly #sync: () => Promise<void>;
  /** Changes so far, and those of them that are on disk. */
  #changes = 0;
  #durable = 0;
  #syncing = false;

  /** Withdraws what an earlier object of the same tree has published. */
  constructor(known: SharedKnownTokens, treeId: string, sync: () => Promise<void>) {
    this.#known = known;
    this.#treeId = treeId;
    this.#sync = sync;
    known.marks.forget(treeId);
  }

  changed(): void {
    this.#changes++;
    this.#known.marks.forget(this.#treeId);
  }

  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => number | null): void {
    if (row.uses_left !== 0 || view.boundCidrs.length > 0) return;
    // The runtime holds back answers about writes that a crash would undo. The Worker alone could not.
    if (this.#durable !== this.#changes) {
      this.#awaitDisk();
      return;
    }
    const { tokens, marks } = this.#known;
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

export const SHARED_KNOWN_TOKENS: KnownTokens = new SharedKnownTokens();

let current: KnownTokens = NO_KNOWN_TOKENS;

/** The live tokens that this deployment knows. */
export function knownTokens(): KnownTokens {
  return current;
}

/** Chooses what this deployment knows of live tokens. */
export function useKnownTokens(chosen: KnownTokens): void {
  current = chosen;
}

/** A known token whose holder has proved itself; null when the tree has to be asked. */
export function knownToken(
  { treeId, row, verifier }: Credential,
  watermarks: Watermarks,
  now: number,
): TokenView | null {
  const known = current.find(treeId, row, watermarks, now);
  return known && equalBytes(known.verifier, verifier) ? known.view : null;
}

/** True when the token of this row is known to be alive at `now` (ms). False says nothing. */
export function isKnownAlive(treeId: string, row: number, watermarks: Watermarks, now: number): boolean {
  return current.find(treeId, row, watermarks, now) !== null;
}

function keyOf(treeId: string, row: number): string {
  return `${treeId}${row}`;
}
