import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseIdentityDocument } from "../../../../../src/methods/aws/documents/identity-document.ts";

const document = {
  accountId: "123456789012",
  instanceId: "i-0123456789abcdef0",
  imageId: "ami-0123456789abcdef0",
  region: "us-gov-west-1",
  pendingTime: "2026-02-16T00:38:27Z",
};

const parse = (text: string) => parseIdentityDocument(new TextEncoder().encode(text));
const refused = (text: string) => {
  const result = parse(text);
  return !result.ok && "message" in result.error ? result.error.message : "accepted";
};
const json = JSON.stringify(document);
const withField = (name: string, value: unknown) => JSON.stringify({ ...document, [name]: value });

describe("identity document", () => {
  it("is read, and fields that nobody needs are ignored", () => {
    const extra = withField("billingProducts", [{ code: "x" }]);
    expect(parse(extra)).toEqual({
      ok: true,
      value: { ...document, pendingTimeMs: Date.UTC(2026, 1, 16, 0, 38, 27) },
    });
  });

  it.each(Object.keys(document))("needs %s", (field) => {
    expect(refused(withField(field, undefined))).toBe(`instance identity document has no valid ${field}`);
    for (const value of [null, 123456789012, "", " ", ["x"], {}, true]) {
      expect(refused(withField(field, value))).toBe(`instance identity document has no valid ${field}`);
    }
  });

  it.each([
    ["accountId", "12345678901"],
    ["accountId", "1234567890123"],
    ["accountId", "１２３４５６７８９０１２"],
    ["accountId", "123456789012\n"],
    ["instanceId", "i-"],
    ["instanceId", "I-0123"],
    ["instanceId", "i-0123/../x"],
    ["imageId", "ami-0123/../../config"],
    ["region", "us-east-1.evil.example"],
    ["region", "us-east-1\u0000"],
    ["region", "__proto__"],
    ["pendingTime", "2026-02-30T00:00:00Z"],
    ["pendingTime", "2026-02-16"],
    ["pendingTime", "2026-02-16T24:00:00Z"],
    ["pendingTime", "2026-02-16 00:38:27Z"],
    ["pendingTime", "Mon, 16 Feb 2026 00:38:27 GMT"],
  ])("refuses %s of another form: %s", (field, value) => {
    expect(refused(withField(field, value))).toBe(`instance identity document has no valid ${field}`);
  });

  it("a repeated name does not change the account", () => {
    for (const text of [
      json.replace("{", '{"accountId":"999999999999",'),
      json.replace("}", ',"accountId":"999999999999"}'),
      json.replace("}", ',"\\u0061ccountId":"999999999999"}'),
      json.replace("}", ',"other":{"a":1,"a":2}}'),
      json.replace("}", ',"other":[{"a":1},{"b":1,"b":2}]}'),
    ]) {
      expect(refused(text)).toMatch(/unique names/);
    }
    expect(parse(json.replace("}", ',"other":[{"a":1},{"a":1}],"text":"\\"a\\":{"}')).ok).toBe(true);
  });

  it("a re-cased name does not change the account", () => {
    for (const name of ["accountid", "AccountId", "ACCOUNTID", "in\u017FtanceId", "instanceid"]) {
      expect(refused(json.replace("}", `,"${name}":"999999999999"}`))).toMatch(/unique names/);
    }
    const { accountId, ...rest } = document;
    expect(refused(JSON.stringify({ ...rest, AccountId: accountId }))).toMatch(/another casing/);
    const { instanceId, ...others } = document;
    expect(refused(JSON.stringify({ ...others, "in\u017FtanceId": instanceId }))).toMatch(/another casing/);
  });

  it("is not taken from a prototype", () => {
    expect(refused(`{"__proto__":${json}}`)).toMatch(/no valid/);
  });

  it.each([
    ["an array", `[${json}]`],
    ["a text", '"x"'],
    ["null", "null"],
    ["nothing", ""],
    ["trailing text", `${json}x`],
    ["two objects", `${json}${json}`],
    ["a byte order mark", `\uFEFF${json}`],
    ["a comment", `${json}//`],
    ["deep nesting", json.replace("}", `,"x":${"[".repeat(1500)}${"]".repeat(1500)}}`)],
  ])("refuses %s", (_, text) => {
    expect(refused(text)).toMatch(/not a JSON object/);
  });

  it("refuses bytes that are not UTF-8, and more than 4 kB", () => {
    expect(parseIdentityDocument(Buffer.from(json.replace("us-gov", "us\u00ffgov"), "latin1")).ok).toBe(false);
    expect(refused(withField("padding", "x".repeat(4_000)))).toMatch(/too large/);
  });

  it("never throws", () => {
    const text = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json({ maxDepth: 12 }).map((inner) => json.replace("}", `,"x":${inner}}`)),
    );
    fc.assert(
      fc.property(text, (sample) => {
        expect(typeof parse(sample).ok).toBe("boolean");
      }),
      { numRuns: 1000 },
    );
  });
});
