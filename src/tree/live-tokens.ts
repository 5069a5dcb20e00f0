import { GenerationalCache } from "../base/generational-cache.ts";
import { equalBytes } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { TokenView } from "../token/record.ts";
import type { TokenRow } from "./tree-store.ts";

/*
 * Where one process serves everything, the Worker and all objects share one isolate. So what a tree found out about a live
 * token can be read by the Worker without a call. It holds until the tree changes something that a look-up shows: the tree
 * drops all that is known about its tokens in the same step, before anybody hears of the change.
 *
 * On Cloudflare's network a tree may run elsewhere, and nothing here is ever used: see `isOneProcess`.
 */

/** Characters of what is known in one generation: some fifteen thousand tokens, 20 MB. */
const MAX_KNOWN_CHARACTERS = 2 ** 23;
/** Trees of which something can be known in one generation. */
const MAX_KNOWN_TREES = 2 ** 15;

interface KnownToken {
  /** The tree's mark when this was found out. */
  readonly mark: object;
  /** The watermarks that the tree checked it against. Others may end it, or a token above it. */
  readonly watermarks: Watermarks;
  readonly verifier: Uint8Array;
  readonly view: TokenView;
  /** ms; null: it ends only by a change of the tree. */
  readonly until: number | null;
}

/** By tree and row. */
const TOKENS = new GenerationalCache<string, KnownToken>(MAX_KNOWN_CHARACTERS);
/** By tree. What bears another mark than its tree, or whose tree has none, is void. */
const MARKS = new GenerationalCache<string, object>(MAX_KNOWN_TREES);

/** True where `npm run serve` runs the Worker: one process, one isolate, every object in it. */
export function isOneProcess(env: Env): boolean {
  return env.ONE_PROCESS === "true";
}

/** What proves that a client holds a token, and where that is stored. */
interface Credential {
  readonly treeId: string;
  readonly row: number;
  readonly verifier: Uint8Array;
}

/**
 * A token as its tree would show it at `now` (ms) under these watermarks, if that is known here. null says nothing: the
 * tree has to be asked. Tokens with limited uses or bound to networks are never known.
 */
export function knownToken(
  env: Env,
  { treeId, row, verifier }: Credential,
  watermarks: Watermarks,
  now: number,
): TokenView | null {
  const known = find(env, treeId, row, watermarks, now);
  return known && equalBytes(known.verifier, verifier) ? known.view : null;
}

/** True when the token of this row is known here to be alive at `now` (ms). False says nothing. */
export function isKnownAlive(env: Env, treeId: string, row: number, watermarks: Watermarks, now: number): boolean {
  return find(env, treeId, row, watermarks, now) !== null;
}

function find(env: Env, treeId: string, row: number, watermarks: Watermarks, now: number): KnownToken | null {
  if (!isOneProcess(env)) return null;
  const known = TOKENS.get(keyOf(treeId, row));
  if (!known || known.mark !== MARKS.get(treeId) || known.watermarks !== watermarks) return null;
  return known.until === null || now < known.until ? known : null;
}

function keyOf(treeId: string, row: number): string {
  return `${treeId}${row}`;
}

/** The hand of a tree on what is known about its tokens. */
export class LiveTokens {
  readonly #env: Env;
  readonly #treeId: string;
  readonly #sync: () => Promise<void>;
  /** Changes so far, and those of them that are on disk. */
  #changes = 0;
  #durable = 0;
  #syncing = false;

  /**
   * What an earlier object of the same tree had made known is void from here on.
   *
   * @param sync resolves when everything that was written before is on disk.
   */
  constructor(env: Env, treeId: string, sync: () => Promise<void>) {
    this.#env = env;
    this.#treeId = treeId;
    this.#sync = sync;
    MARKS.forget(treeId);
  }

  /** Drops what is known. Called in the step that changes what a look-up of any token of the tree shows, or ends one. */
  changed(): void {
    this.#changes++;
    MARKS.forget(this.#treeId);
  }

  /**
   * Makes a token known that was found alive in this step.
   *
   * @param watermarks that the tree has checked it against.
   * @param aliveUntil when it may end by itself (ms), or an ancestor of it; null: never. Asked for only where it is kept.
   */
  found(row: TokenRow, view: TokenView, watermarks: Watermarks, aliveUntil: () => number | null): void {
    if (!isOneProcess(this.#env) || row.uses_left !== 0 || view.boundCidrs.length > 0) return;
    // The runtime holds back answers about what a crash would undo; the Worker alone could not.
    if (this.#durable !== this.#changes) {
      this.#awaitDisk();
      return;
    }
    let mark = MARKS.get(this.#treeId);
    if (!mark) {
      mark = {};
      MARKS.set(this.#treeId, mark, 1);
    }
    const key = keyOf(this.#treeId, row.row);
    const until = aliveUntil();
    const before = TOKENS.get(key);
    if (before?.mark === mark && before.watermarks === watermarks && before.until === until) return;
    TOKENS.set(key, { mark, watermarks, verifier: row.fixed.verifier, view, until }, JSON.stringify(view).length);
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
