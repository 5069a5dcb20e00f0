import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { concat } from "../../../src/crypto/bytes.ts";
import type { Keys } from "../../../src/crypto/key-ring.ts";
import { newTokenIds, readServiceToken, routedIdText } from "../../../src/token/ids.ts";
import { sealToken } from "../../../src/tree/tree-store.ts";
import type { GroveBuild } from "../servers/grove.ts";
import { seedAccessors } from "./accessors.ts";
import { databasePath, inBulk, insertLike, keysOf, type Row } from "./installation.ts";

/** Children of one token, in seeded trees: wide, as real ones are, but with tokens between the top and the leaves. */
const FAN_OUT = 100;
/** Number of seeded tokens that can be used; the others have a verifier that matches no token. */
const USABLE = 50;
/** Rows are numbered by the time they are drawn, so those of two days ago are free. */
const DAY_MS = 86_400_000;
/** Random part and tag of an accessor. */
const TAIL_BYTES = 24;
const VERIFIER_BYTES = 24;

/** What to put below a token. */
export interface TreeSeed {
  readonly count: number;
  /** The token that everything hangs below. */
  readonly parent: string;
  /** A child of it that the API made: the seeded tokens are like it. Its accessor, too. */
  readonly child: { readonly token: string; readonly accessor: string };
}

/**
 * Puts `count` tokens below a token, two levels deep, straight into the database of its tree. The server must be stopped.
 *
 * @returns the text of some of them, spread over both levels.
 */
export async function seedTree(build: GroveBuild, directory: string, seed: TreeSeed): Promise<string[]> {
  const keys = await keysOf(build, directory);
  const parent = await readServiceToken(keys, seed.parent);
  const child = await readServiceToken(keys, seed.child.token);
  if (!parent || !child || parent.treeId !== child.treeId) throw new Error("parent and child belong to one tree");
  const { treeId } = parent;
  const database = new DatabaseSync(databasePath(build, directory, "TokenTree", treeId));
  const model = database.prepare("SELECT * FROM tokens WHERE row = ?").get(child.row);
  if (!model) throw new Error("a token that the API gave is not in its tree");

  const usable = await usableTokens(keys, treeId, seed.count);
  const inner = Math.ceil(seed.count / FAN_OUT);
  const firstRow = child.row - 2 * DAY_MS * 4096;
  const accessors: string[] = [];
  const rowOf = (index: number) => usable.get(index)?.row ?? firstRow + index;
  const recordJson = String(model.record);
  function* rows(): Generator<Row> {
    for (let index = 0; index < seed.count; index++) {
      const ids = usable.get(index);
      const row = rowOf(index);
      const accessorTail = ids?.accessorTail ?? new Uint8Array(randomBytes(TAIL_BYTES));
      const verifier = ids?.verifier ?? new Uint8Array(randomBytes(VERIFIER_BYTES));
      const seal = sealToken(keys.rows, treeId, { row, verifier, accessorTail, recordJson });
      accessors.push(routedIdText(treeId, row, accessorTail));
      yield {
        row,
        parent: index < inner ? (parent?.row ?? null) : rowOf((index - inner) % inner),
        verifier: concat(verifier, seal),
        accessor: accessorTail,
        expires_at: Number(model?.expires_at) + index,
      };
    }
  }
  inBulk(database, () => insertLike(database, "tokens", model, rows()));
  seedAccessors(build, directory, seed.child.accessor, accessors);
  return [...usable.values()].map((ids) => ids.token);
}

/** Ids of real tokens, by their place among the seeded ones. */
async function usableTokens(keys: Keys, treeId: string, count: number) {
  const usable = new Map<number, Awaited<ReturnType<typeof newTokenIds>>>();
  const longAgo = Date.now() - DAY_MS;
  for (let number = 0; number < Math.min(USABLE, count); number++) {
    // A ms for each, so that no two draw the same row.
    usable.set(Math.floor((number * count) / USABLE), await newTokenIds(keys, treeId, longAgo + number));
  }
  return usable;
}
