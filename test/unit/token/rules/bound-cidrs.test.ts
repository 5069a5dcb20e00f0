import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressAllowed, parseCidr } from "../../../../src/token/rules/bound-cidrs.ts";

describe("addressAllowed", () => {
  it.each<[string[], string | null, boolean]>([
    [[], null, true],
    [[], "203.0.113.9", true],
    [["127.0.0.1"], "127.0.0.1", true],
    [["127.0.0.1"], "127.0.0.2", false],
    [["1.2.3.4/8", "5.6.7.8/24"], "1.200.0.1", true],
    [["5.6.7.8/24"], "5.6.8.1", false],
    [["127.0.0.1"], null, false],
    [["127.0.0.1"], "not an address", false],
    [["10.0.0.0/8"], "::ffff:10.1.2.3", true],
    [["10.0.0.0/8"], "0012.1.2.3", false],
    [["2001:db8::/32"], "2001:db8:1::5", true],
    [["2001:db8::/32"], "2001:db9::1", false],
    [["0.0.0.0/0"], "::1", false],
  ])("%j lets %j in: %s", (cidrs, address, allowed) => expect(addressAllowed(cidrs, address)).toBe(allowed));
});

describe("parseCidr", () => {
  it.each([
    ["127.0.0.1/32", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.1"],
    ["1.2.3.4/8", "1.2.3.4/8"],
    [" 10.0.0.0/8 ", "10.0.0.0/8"],
    ["2001:db8::/32", "2001:db8::/32"],
  ])("%j is kept as %j", (text, kept) => expect(parseCidr(text)).toEqual({ ok: true, value: kept }));

  it.each(["", "x", "1.2.3", "1.2.3.4/33", "1.2.3.4/-1", "010.0.0.0/8", "1.2.3.4/8/8", "::/129"])(
    "%j is refused",
    (text) => expect(parseCidr(text).ok).toBe(false),
  );

  it("whatever is accepted can be matched against", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.ipV4(),
          fc.ipV6(),
          fc.tuple(fc.ipV4(), fc.nat(40)).map((p) => p.join("/")),
        ),
        (text) => {
          const parsed = parseCidr(text);
          if (parsed.ok) addressAllowed([parsed.value], "192.0.2.1");
        },
      ),
      { numRuns: 1000 },
    );
  });
});
