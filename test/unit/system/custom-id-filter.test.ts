import { expect, it } from "vitest";
import {
  addTo,
  BLOCK_BYTES,
  blockFor,
  blocksOf,
  layerForNext,
  MAX_LAYERS,
  mayContain,
} from "../../../src/system/custom-id-filter.ts";

/** Numbers that look like keyed hashes: 32 bytes of a small generator. */
function hashes(seed: number): () => Uint8Array {
  const words = new Uint32Array(8);
  const bytes = new Uint8Array(words.buffer);
  let state = seed;
  return () => {
    for (let i = 0; i < words.length; i++) {
      state = (state + 0x9e3779b9) | 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
      words[i] = mixed ^ (mixed >>> 15);
    }
    return bytes;
  };
}

/** A filter with so many ids, filled as the installation fills it. */
function filled(count: number, next: () => Uint8Array): (Uint8Array | null)[][] {
  const layers: (Uint8Array | null)[][] = [];
  const ids: number[] = [];
  for (let i = 0; i < count; i++) {
    const key = next();
    const layer = layerForNext(ids);
    layers[layer] ??= new Array<Uint8Array | null>(blocksOf(layer)).fill(null);
    ids[layer] = (ids[layer] ?? 0) + 1;
    const blocks = layers[layer];
    const at = blockFor(layer, key);
    const block = blocks?.[at] ?? new Uint8Array(BLOCK_BYTES);
    addTo(block, key);
    if (blocks) blocks[at] = block;
  }
  return layers;
}

it("finds the ids, lets less than 1 % of garbage through at 1,000,000, and takes 2 bytes for an id", () => {
  const count = 1_000_000;
  const filter = filled(count, hashes(1));
  const again = hashes(1);
  let missing = 0;
  for (let i = 0; i < count; i++) {
    const key = again();
    if (i % 10 === 0 && !mayContain(filter, key)) missing++;
  }
  expect(missing).toBe(0);
  const garbage = hashes(0x5bd1e995);
  let wrong = 0;
  for (let i = 0; i < 50_000; i++) if (mayContain(filter, garbage())) wrong++;
  expect(wrong / 50_000).toBeLessThan(0.01);
  const blocks = filter.flat().filter((block) => block !== null).length;
  expect(blocks * BLOCK_BYTES).toBeLessThanOrEqual(127 * BLOCK_BYTES);
});

it("holds nothing when it is empty, and little lets nothing through", () => {
  const garbage = hashes(7);
  for (let i = 0; i < 100; i++) expect(mayContain([], garbage())).toBe(false);
  const filter = filled(500, hashes(1));
  let wrong = 0;
  for (let i = 0; i < 10_000; i++) if (mayContain(filter, garbage())) wrong++;
  expect(wrong).toBe(0);
});

it("has at most 255 blocks, however many ids there are", () => {
  const full = Array.from({ length: MAX_LAYERS }, () => 1e9);
  expect(layerForNext(full)).toBe(MAX_LAYERS - 1);
  const blocks = Array.from({ length: MAX_LAYERS }, (_, layer) => blocksOf(layer));
  expect(blocks.reduce((sum, one) => sum + one, 0)).toBe(255);
});
