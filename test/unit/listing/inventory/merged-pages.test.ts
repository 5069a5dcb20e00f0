import { describe, expect, it } from "vitest";
import {
  comparePositions,
  type Order,
  type OrderPosition,
  type ShardPage,
  scanPage,
} from "../../../../src/listing/inventory/page-cursor.ts";
import { mergePages } from "../../../../src/listing/inventory/queries.ts";

/** A token of one shard. Tokens of different shards can have equal keys and ids. */
interface Place {
  readonly key: number;
  readonly id: number;
  readonly shard: number;
}

/** A shard reads so many tokens for one page at most. */
const MOST_READ = 3;

/** Reads all tokens of some shards, page by page. */
function allPages(shards: readonly (readonly Place[])[], order: Order, limit: number): Place[] {
  const found: Place[] = [];
  let after: OrderPosition | null = null;
  do {
    const from: OrderPosition | null = after;
    const pages: ShardPage<Place>[] = shards.map((places) => {
      const rows = places.toSorted((a, b) => comparePositions(a, b, order));
      return scanPage(rows, order, { after: from, limit }, MOST_READ, (place) => {
        return { token: place, position: place, isSelected: true };
      });
    });
    const page = mergePages(pages, order, limit, ({ key }) => key);
    found.push(...page.tokens);
    after = page.next;
  } while (after !== null);
  return found;
}

describe("the pages of several shards", () => {
  it.each([false, true])(
    "have each token once and in order, also with equal keys and ids, descending: %s",
    (descending) => {
      const order: Order = { by: "end", descending };
      // The first shard has many tokens between those of the others, so it stops before them.
      const shards = [0, 1, 2].map((shard) =>
        Array.from(
          { length: shard === 0 ? 9 : 3 },
          (_, at): Place => ({ key: 1, id: shard === 0 ? at : 4 * at, shard }),
        ),
      );
      const expected = shards.flat().sort((a, b) => comparePositions(a, b, order));
      for (const limit of [1, 2, 6]) expect(allPages(shards, order, limit)).toEqual(expected);
    },
  );
});
