import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { mentionKeys } from "../../../src/audit/mention-keys.ts";
import { GenerationalCache } from "../../../src/base/generational-cache.ts";
import { importKeys, type Keys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { writeAuditLine } from "../../../src/wire/audit.ts";
import { auditData, CALLER_ENTRIES, type LoggedData, OPEN_ENTRIES } from "../../../src/wire/audit-data.ts";
import { auditHash } from "../../../src/wire/audit-masking.ts";

let keys: Keys;

beforeAll(async () => {
  keys = await importKeys(newKeyRing(0));
});

const KNOWN = new Set(["role", "policies", "count", "meta"]);
const logged = (data: Record<string, unknown>, options: Partial<LoggedData> = {}) => {
  const fieldHashes = new GenerationalCache<string, string>(1000);
  const isKnown = (name: string) => KNOWN.has(name);
  return auditData({ keys, fieldHashes }, { data, isKnown, plain: [], most: CALLER_ENTRIES, ...options });
};
const hash = (text: string) => auditHash(keys, text);
const HASH = /^hmac-sha256:[0-9a-f]{64}$/;

describe("the fields of a request in the log", () => {
  it("have their names where the endpoint defines them, and all texts as hashes", async () => {
    expect(await logged({ role: "ci", count: 3, policies: ["a", true, null] })).toEqual({
      role: await hash("ci"),
      count: 3,
      policies: [await hash("a"), true, null],
    });
  });

  it("are never hashed to the key of mentions, whatever was sent", async () => {
    const [, hashed = ""] = (await hash("grove audit mentions")).split(":");
    const key = createHmac("sha256", Buffer.from(hashed, "hex")).update("address:192.0.2.1").digest("hex");
    expect((await mentionKeys(keys))("address:192.0.2.1")).not.toBe(Number.parseInt(key.slice(0, 13), 16));
  });

  it("have hashes for all other names: of fields, in objects, in lists, of any length", async () => {
    const long = "x".repeat(100_000);
    const line = await logged({ secret: "", [long]: 1, meta: { inner: [{ deep: true }] }, __proto__: 1 });
    expect(line).toEqual({
      [await hash("secret")]: await hash(""),
      [await hash(long)]: 1,
      meta: { [await hash("inner")]: [{ [await hash("deep")]: true }] },
    });
    expect(JSON.stringify(await logged(JSON.parse('{"__proto__": {"constructor": 1}}')))).not.toMatch(/proto|constr/);
  });

  it("show what the mount names as it is, up to a length", async () => {
    const long = "x".repeat(1025);
    const plain = ["role", "other"];
    expect(await logged({ role: "ci", other: { a: ["b", long] } }, { plain })).toEqual({
      role: "ci",
      other: { [await hash("a")]: ["b", await hash(long)] },
    });
  });

  it("are bounded in number, and say how many are left out", async () => {
    const list = Array.from({ length: 20_000 }, (_, at) => at);
    const names = Object.fromEntries(list.map((at) => [`name-${at}`, at]));
    for (const most of [OPEN_ENTRIES, CALLER_ENTRIES]) {
      for (const data of [{ policies: list }, names, { meta: names }, { meta: list.map(() => []) }]) {
        const text = JSON.stringify(await logged(data, { most }));
        expect(text.length).toBeLessThan(100 * most);
        expect(text).toMatch(/"<more>":1[0-9]{4}/);
      }
    }
  });

  it("of another Worker can contain themselves", async () => {
    const data: Record<string, unknown> = {};
    data.meta = [data, data, data];
    expect(JSON.stringify(await logged(data)).length).toBeLessThan(200 * CALLER_ENTRIES);
  });

  it("that the endpoint defines are there, whatever else is sent", async () => {
    const junk = Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`junk-${at}`, `${at}`]));
    const line = await logged({ ...junk, policies: ["admin"], role: "ci" }, { most: OPEN_ENTRIES });
    expect(line).toMatchObject({ policies: [await hash("admin")], role: await hash("ci") });
    expect(Object.keys(line).filter((name) => HASH.test(name)).length).toBeLessThan(OPEN_ENTRIES);
  });
});

it("a line has no character that changes how it is shown, and reads as it was", () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const path = "a\u202eb\u0085c\u2028d\u00a0e\u{e0041}é f";
  const line = { type: "response", time: "", via: "http", request_id: "", operation: "read", path } as const;
  writeAuditLine({ ...line, client_address: null });
  const text = String(log.mock.calls[0]?.[0]);
  expect(text).toContain("a\\u202eb\\u0085c\\u2028d\\u00a0e\\udb40\\udc41é f");
  expect(JSON.parse(text)).toMatchObject({ path });
  log.mockRestore();
});
