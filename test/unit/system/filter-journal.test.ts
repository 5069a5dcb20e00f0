import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type BlockPlace,
  blocksOf,
  type CustomIdFilter,
  changedFilter,
  type FilterChange,
  FilterJournal,
} from "../../../src/system/custom-id-filter.ts";

/** A filter with its journal, which may forget everything when the object starts anew. */
class Filter {
  readonly #blocks = new Map<string, FilterChange["blocks"][number]>();
  #journal = new FilterJournal();
  version = 0;

  change({ layer, block }: BlockPlace): void {
    const bits = Uint8Array.of(this.version);
    this.#blocks.set(`${layer}.${block}`, { layer, block, bits });
    this.#journal.note({ layer, block }, this.version++);
  }

  restart(): void {
    this.#journal = new FilterJournal();
  }

  since(version: number): FilterChange {
    const places = this.#journal.since(version);
    const all = [...this.#blocks.values()];
    if (places === null) return { isWhole: true, blocks: all };
    const named = new Set(places.map(({ layer, block }) => `${layer}.${block}`));
    return { isWhole: false, blocks: all.filter(({ layer, block }) => named.has(`${layer}.${block}`)) };
  }
}

const step = fc.record({
  place: fc
    .integer({ min: 0, max: 3 })
    .chain((layer) =>
      fc.record({ layer: fc.constant(layer), block: fc.integer({ min: 0, max: blocksOf(layer) - 1 }) }),
    ),
  // Which of three copies is brought up to date after the change; 3: none.
  reader: fc.integer({ min: 0, max: 3 }),
  restarts: fc.boolean(),
});

it("a copy that is updated by changes equals the whole filter, whatever its version was", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const filter = new Filter();
      const copies = [0, 1, 2].map((): { filter: CustomIdFilter; version: number } => ({ filter: [], version: -1 }));
      const update = (copy: (typeof copies)[number]) => {
        if (copy.version === filter.version) return;
        const before = copy.filter.map((layer) => [...layer]);
        const changed = changedFilter(copy.filter, filter.since(copy.version));
        // Requests in flight use the previous filter.
        expect(copy.filter).toEqual(before);
        Object.assign(copy, { filter: changed, version: filter.version });
      };
      for (const { place, reader, restarts } of steps) {
        filter.change(place);
        if (restarts && reader === 3) filter.restart();
        const copy = copies[reader];
        if (copy) update(copy);
      }
      const whole = changedFilter([], filter.since(-1));
      for (const copy of copies) {
        update(copy);
        expect(copy.filter).toEqual(whole);
      }
    }),
    { numRuns: 60 },
  );
});

it("a version that is too old is not known any more, and neither is that of now", () => {
  const journal = new FilterJournal();
  for (let version = 0; version < 20_000; version++) journal.note({ layer: 0, block: 0 }, version);
  expect(journal.since(0)).toBeNull();
  expect(journal.since(20_000)).toBeNull();
  expect(journal.since(19_000)).toEqual([{ layer: 0, block: 0 }]);
});
