import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBer, writeDer } from "../../../../../src/methods/aws/documents/ber.ts";
import { indefinite, integer, octets, sequence, set, tlv } from "./make.ts";

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));

function normalise(input: Uint8Array): string {
  const element = readBer(input);
  return element.ok ? Buffer.from(writeDer(element.value)).toString("hex") : element.error;
}

const hex = (input: Uint8Array) => Buffer.from(input).toString("hex");

describe("BER to DER", () => {
  it("closes indefinite lengths, at any level", () => {
    const inner = indefinite(0xa0, indefinite(0x31, integer(5)), octets(bytes("0000")));
    expect(normalise(indefinite(0x30, inner))).toBe(hex(sequence(tlv(0xa0, set(integer(5)), octets(bytes("0000"))))));
  });

  it("joins the segments of an octet string", () => {
    const expected = hex(octets(bytes("010203")));
    expect(normalise(indefinite(0x24, octets(bytes("01")), octets(bytes("0203"))))).toBe(expected);
    expect(normalise(tlv(0x24, octets(bytes("01")), tlv(0x24, octets(bytes("0203")))))).toBe(expected);
    expect(normalise(tlv(0x24))).toBe("0400");
  });

  it("keeps DER as it is", () => {
    const long = sequence(octets(new Uint8Array(200)), octets(new Uint8Array(300)), set());
    expect(normalise(long)).toBe(hex(long));
  });

  it.each([
    ["nothing", "", "truncated"],
    ["a tag alone", "30", "truncated"],
    ["a long tag", "1f 81 01 00", "tag that is too long"],
    ["a length beyond the data", "04 05 00", "beyond"],
    ["a length beyond its parent", "30 03 04 02 00 00", "beyond"],
    ["a length octet missing", "04 82 01", "truncated"],
    ["a length with a leading zero", "04 82 00 81", "leading zero"],
    ["a long length that fits the short form", "04 81 01 00", "longer form"],
    ["a length of four octets", "04 84 01 00 00 00", "too long"],
    ["a reserved length", "04 ff 00", "too long"],
    ["an indefinite primitive", "04 80 00 00", "primitive of unknown length"],
    ["an end that is missing", "30 80 02 01 05", "truncated"],
    ["half an end", "30 80 00", "truncated"],
    ["an end with content", "30 80 00 01 00", "bad end"],
    ["an end in a definite length", "30 02 00 00", "end without a start"],
    ["an end of its parent's inside", "30 04 30 80 00 00 00 00", "follows"],
    ["a second value", "02 01 05 02 01 05", "follows"],
    ["a primitive sequence", "10 00", "wrong form"],
    ["a primitive set", "11 00", "wrong form"],
    ["a constructed integer", "22 03 02 01 05", "wrong form"],
    ["a constructed text", "2c 03 0c 01 41", "wrong form"],
    ["a segment of another type", "24 03 02 01 05", "another type"],
  ])("refuses %s", (_, text, problem) => {
    expect(normalise(bytes(text))).toContain(problem);
  });

  it("refuses deep nesting without exhausting the stack", () => {
    expect(normalise(new Uint8Array(8_000).map((_, index) => (index % 2 === 0 ? 0x30 : 0x80)))).toContain("deep");
    let nested = octets(new Uint8Array());
    for (let depth = 0; depth < 200; depth++) nested = tlv(0x24, nested);
    expect(normalise(nested)).toContain("deep");
  });

  it("refuses more than 8 kB", () => {
    expect(normalise(octets(new Uint8Array(8_188)))).not.toContain("too large");
    expect(normalise(octets(new Uint8Array(8_189)))).toContain("too large");
  });

  it("counts elements while it reads, whatever their length and nesting", () => {
    const flat = (count: number) => sequence(...Array.from({ length: count }, () => tlv(0x05)));
    expect(normalise(flat(299))).toBe(hex(flat(299)));
    expect(normalise(flat(300))).toContain("too many elements");
    const pairs = indefinite(0x30, ...Array.from({ length: 150 }, () => indefinite(0x31, integer(1))));
    expect(normalise(pairs)).toContain("too many elements");
    expect(normalise(indefinite(0x24, ...Array.from({ length: 300 }, () => octets(bytes("01")))))).toContain(
      "too many",
    );
  });

  it("never throws, and its output is a fixed point", () => {
    const input = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .array(fc.constantFrom(0x00, 0x02, 0x04, 0x24, 0x30, 0x31, 0x80, 0x81, 0xa0, 0x01, 0x03), { maxLength: 60 })
        .map((octetsOf) => Uint8Array.from(octetsOf)),
    );
    fc.assert(
      fc.property(input, (sample) => {
        const element = readBer(sample);
        if (!element.ok) return;
        const der = writeDer(element.value);
        const again = readBer(der);
        expect(again.ok && hex(writeDer(again.value))).toBe(hex(der));
      }),
      { numRuns: 3000 },
    );
  });
});
