import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { importKeys, type Keys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import {
  checkCustomId,
  newRow,
  newTokenIds,
  readAccessor,
  readServiceToken,
  routedIdText,
} from "../../../src/token/ids.ts";

const TREE = "5f".repeat(32);
const NOW = Date.UTC(2026, 10, 21);
let keys: Keys;

beforeAll(async () => {
  keys = await importKeys(newKeyRing(0));
});

it("a custom id has at most 256 printable characters", () => {
  expect(checkCustomId(`${"!".repeat(255)}~`)).toBeNull();
  expect(checkCustomId("x".repeat(257))).toBe("custom token ID cannot be longer than 256 characters");
  for (const character of [" ", "\u007f"]) expect(checkCustomId(`a${character}b`)).toMatch(/printable ASCII/);
});

describe("service tokens", () => {
  it("carry their tree and row", async () => {
    const ids = await newTokenIds(keys, TREE, NOW);
    expect(ids.token).toMatch(/^s\.[A-Za-z0-9_-]{84}$/);
    expect(await readServiceToken(keys, ids.token)).toEqual({ treeId: TREE, row: ids.row, verifier: ids.verifier });
  });

  it("are refused when any character differs", async () => {
    const { token } = await newTokenIds(keys, TREE, NOW);
    for (let i = 0; i < token.length; i++) {
      const changed = `${token.slice(0, i)}${token[i] === "A" ? "B" : "A"}${token.slice(i + 1)}`;
      expect(await readServiceToken(keys, changed)).toBeNull();
    }
  });

  it("are refused by another installation", async () => {
    const { token } = await newTokenIds(await importKeys(newKeyRing(0)), TREE, NOW);
    expect(await readServiceToken(keys, token)).toBeNull();
  });

  it("garbage is refused and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 120 }), async (text) => {
        expect(await readServiceToken(keys, text)).toBeNull();
        expect(await readServiceToken(keys, `s.${text}`)).toBeNull();
        expect(await readAccessor(keys, text)).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
});

describe("accessors", () => {
  it("lead to the row and are rebuilt from what the tree stores", async () => {
    const ids = await newTokenIds(keys, TREE, NOW);
    expect(await readAccessor(keys, ids.accessor)).toEqual({ treeId: TREE, row: ids.row, tail: ids.accessorTail });
    expect(routedIdText(TREE, ids.row, ids.accessorTail)).toBe(ids.accessor);
  });

  it("are not tokens, and tokens are not accessors", async () => {
    const ids = await newTokenIds(keys, TREE, NOW);
    expect(await readServiceToken(keys, `s.${ids.accessor}`)).toBeNull();
    expect(await readAccessor(keys, ids.token.slice(2))).toBeNull();
  });
});

describe("rows", () => {
  it("grow with time and stay exact numbers for decades", () => {
    expect(newRow(NOW + 1)).toBeGreaterThan(newRow(NOW));
    expect(Number.isSafeInteger(newRow(Date.UTC(2090, 0, 1)))).toBe(true);
  });
});
