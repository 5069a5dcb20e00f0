import { expect, it, vi } from "vitest";
import { importKeys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { RowSeals } from "../../../src/storage/row-seals.ts";

it("a row that was found good is refused when its seal or its content changes while the object remembers it", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const { rows } = await importKeys(newKeyRing(0));
  const seals = new RowSeals("object", () => rows);
  const made = seals.make("policy", "name", ["rules"]);
  const other = seals.make("policy", "other", ["rules"]);
  if (!made || !other) throw new Error("there are keys");
  const admits = (seal: ArrayBuffer | null, content = "rules") =>
    seals.admit({ kind: "policy", row: "name", content: [content], seal }, () => {});
  expect([admits(made.buffer), admits(made.buffer)]).toEqual([true, true]);
  expect([admits(null), admits(other.buffer), admits(made.buffer, "changed")]).toEqual([false, false, false]);
  expect(admits(made.buffer)).toBe(true);
});

it("a row is checked again under the keys of a new ring", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  let keys = (await importKeys(newKeyRing(0))).rows;
  const seals = new RowSeals("object", () => keys);
  const seal = seals.make("policy", "name", ["rules"]);
  const admits = () =>
    seals.admit({ kind: "policy", row: "name", content: ["rules"], seal: seal?.buffer ?? null }, () => {});
  expect(admits()).toBe(true);
  keys = (await importKeys(newKeyRing(0))).rows;
  expect(admits()).toBe(false);
});
