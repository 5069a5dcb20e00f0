import { describe, expect, it } from "vitest";
import {
  type Element,
  readAlgorithm,
  readOid,
  readSmallInteger,
  readTime,
  TAG,
} from "../../../../../src/methods/aws/documents/ber.ts";

const primitive = (tag: number, ...content: number[]): Element => ({ tag, content: Uint8Array.from(content) });
const text = (tag: number, value: string) => primitive(tag, ...Buffer.from(value));
const object = (...content: number[]) => primitive(TAG.OBJECT_IDENTIFIER, ...content);

describe("an object identifier", () => {
  it("is read in dotted form", () => {
    expect(readOid(object(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02))).toBe("1.2.840.113549.1.7.2");
    expect(readOid(object(0x2b, 0x65, 0x70))).toBe("1.3.101.112");
    expect(readOid(object(0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01))).toBe("2.16.840.1.101.3.4.2.1");
    expect(readOid(object(0x88, 0x37))).toBe("2.999");
  });

  it("has one spelling: a padded, cut or endless arc is refused, and so is another type", () => {
    const cut = [
      [0x2a, 0x86],
      [0x2a, 0x81, 0x80],
    ];
    for (const content of [[], ...cut, [0x2a, 0x80, 0x01], [0x80, 0x2a], [0x2a, 0xff, 0xff, 0xff, 0xff, 0x7f]]) {
      expect(readOid(object(...content))).toBeNull();
    }
    expect(readOid(primitive(TAG.OCTET_STRING, 0x2a, 0x03))).toBeNull();
    expect(readOid(undefined)).toBeNull();
  });
});

it("an algorithm has an identifier and at most one member besides; NULL counts as none", () => {
  const algorithm = (...children: Element[]) => readAlgorithm({ tag: TAG.SEQUENCE, children });
  const oid = object(0x2a, 0x03);
  expect(algorithm(oid)).toEqual({ oid: "1.2.3", parameters: null });
  expect(algorithm(oid, primitive(TAG.NULL))).toEqual({ oid: "1.2.3", parameters: null });
  expect(algorithm(oid, oid)).toEqual({ oid: "1.2.3", parameters: oid });
  for (const members of [[], [primitive(TAG.NULL)], [oid, primitive(TAG.NULL, 0)], [oid, oid, oid]]) {
    expect(algorithm(...members)).toBeNull();
  }
});

it("a version is one octet", () => {
  expect(readSmallInteger(primitive(TAG.INTEGER, 3))).toBe(3);
  for (const content of [[], [0, 1], [0x80]]) expect(readSmallInteger(primitive(TAG.INTEGER, ...content))).toBeNull();
});

it("a time has seconds, no fraction and no zone but Z", () => {
  expect(readTime(text(TAG.UTC_TIME, "491231235959Z"))).toBe(Date.UTC(2049, 11, 31, 23, 59, 59));
  expect(readTime(text(TAG.UTC_TIME, "500101000000Z"))).toBe(Date.UTC(1950, 0, 1));
  expect(readTime(text(TAG.GENERALIZED_TIME, "20500101000000Z"))).toBe(Date.UTC(2050, 0, 1));
  for (const value of ["", "490230000000Z", "4912312359Z", "491231235959+0000", "20491231235959Z"]) {
    expect(readTime(text(TAG.UTC_TIME, value)), value).toBeNull();
  }
  expect(readTime(text(TAG.GENERALIZED_TIME, "491231235959Z"))).toBeNull();
  expect(readTime(text(TAG.GENERALIZED_TIME, "2049-12-31T23:59:59.000Z"))).toBeNull();
  expect(readTime(text(TAG.UTC_TIME, "49-12-31T23:59:59.000Z"))).toBeNull();
  expect(readTime(text(TAG.OCTET_STRING, "491231235959Z"))).toBeNull();
});
