import { describe, expect, it } from "vitest";
import { DataKey } from "../../../src/crypto/key-ring.ts";

const root = (fill: number) =>
  crypto.subtle.importKey("raw", new Uint8Array(32).fill(fill), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

/** Identifies keys that can't be exported: the same bytes, encrypted. */
async function printOf(key: CryptoKey): Promise<string> {
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv: new Uint8Array(12) }, key, new Uint8Array(16));
  return Buffer.from(sealed).toString("hex");
}

describe("data key", () => {
  it("has another key for each day, always the same one", async () => {
    const prints = new Set<string>();
    for (const day of [0, 1, 20_000, 20_001, 65_535]) {
      const print = await printOf(await new DataKey(await root(1)).ofDay(day));
      expect(await printOf(await new DataKey(await root(1)).ofDay(day))).toBe(print);
      expect(await printOf(await new DataKey(await root(2)).ofDay(day))).not.toBe(print);
      prints.add(print);
    }
    expect(prints.size).toBe(5);
  });
});
