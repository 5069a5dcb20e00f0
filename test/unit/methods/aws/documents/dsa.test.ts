import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  contentOf,
  membersOf,
  readAlgorithm,
  readBer,
  TAG,
  writeDer,
} from "../../../../../src/methods/aws/documents/ber.ts";
import { type DsaKey, readDsaKey, verifyDsa } from "../../../../../src/methods/aws/documents/dsa.ts";
import { sequence, tlv } from "./make.ts";

function makeKey(modulusLength: number, divisorLength: number) {
  const { privateKey, publicKey } = generateKeyPairSync("dsa", { modulusLength, divisorLength });
  const info = readBer(publicKey.export({ type: "spki", format: "der" }));
  const [algorithm, bits] = (info.ok && membersOf(info.value, TAG.SEQUENCE)) || [];
  const parameters = readAlgorithm(algorithm)?.parameters;
  const publicValue = contentOf(bits, TAG.BIT_STRING)?.subarray(1);
  const key = parameters && publicValue ? readDsaKey(writeDer(parameters), publicValue) : null;
  if (key === null) throw new Error("the key that OpenSSL made was refused");
  return { privateKey, key };
}

const { privateKey, key } = makeKey(1024, 160);
const message = Buffer.from("a document");
const digestOf = (algorithm: string, data: Uint8Array) => new Uint8Array(createHash(algorithm).update(data).digest());

function integer(value: bigint): Uint8Array {
  const text = value.toString(16);
  const bytes = Buffer.from(text.padStart(text.length + (text.length % 2), "0"), "hex");
  return tlv(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Uint8Array.of(0), bytes]) : bytes);
}

function partsOf(signature: Uint8Array): { r: bigint; s: bigint } {
  const rLength = signature[3] ?? 0;
  const r = BigInt(`0x${Buffer.from(signature.subarray(4, 4 + rLength)).toString("hex")}`);
  const s = BigInt(`0x${Buffer.from(signature.subarray(6 + rLength)).toString("hex")}`);
  return { r, s };
}

describe("DSA", () => {
  it.each([
    [1024, 160, "sha1"],
    [1024, 160, "sha256"],
    [2048, 224, "sha256"],
    [2048, 256, "sha256"],
    [2048, 256, "sha1"],
  ])("verifies what OpenSSL signs: %i/%i bits with %s", (modulus, divisor, algorithm) => {
    const pair = makeKey(modulus, divisor);
    for (let run = 0; run < 3; run++) {
      const signature = sign(algorithm, message, pair.privateKey);
      expect(verifyDsa(pair.key, digestOf(algorithm, message), signature)).toBe(true);
      expect(verifyDsa(pair.key, digestOf(algorithm, Buffer.from("another")), signature)).toBe(false);
    }
  });

  it("refuses r and s outside 1 to q - 1", () => {
    const digest = digestOf("sha1", message);
    const { r, s } = partsOf(sign("sha1", message, privateKey));
    expect(verifyDsa(key, digest, sequence(integer(r), integer(s)))).toBe(true);
    for (const [badR, badS] of [
      [0n, s],
      [r, 0n],
      [0n, 0n],
      [r + key.q, s],
      [r, s + key.q],
      [key.q, s],
      [r, key.q],
      [1n, s],
      [r, key.q - s],
    ] as const) {
      expect(verifyDsa(key, digest, sequence(integer(badR), integer(badS)))).toBe(false);
    }
  });

  it("refuses a signature in another spelling", () => {
    const digest = digestOf("sha1", message);
    const { r, s } = partsOf(sign("sha1", message, privateKey));
    const padded = tlv(0x02, Buffer.concat([Uint8Array.of(0, 0), integer(r).subarray(2)]));
    const negative = tlv(0x02, Uint8Array.of(0x80));
    for (const der of [
      sequence(padded, integer(s)),
      sequence(negative, integer(s)),
      sequence(integer(r)),
      sequence(integer(r), integer(s), integer(s)),
      sequence(integer(r), tlv(0x02)),
      sequence(integer(r), tlv(0x04, integer(s).subarray(2))),
      integer(r),
      new Uint8Array(),
      Buffer.concat([sequence(integer(r), integer(s)), Uint8Array.of(0)]),
    ]) {
      expect(verifyDsa(key, digest, der)).toBe(false);
    }
  });

  it("refuses keys whose numbers form no group", () => {
    const read = ({ p, q, g, y }: DsaKey) => readDsaKey(sequence(integer(p), integer(q), integer(g)), integer(y));
    expect(read(key)).toEqual(key);
    for (const bad of [
      { ...key, g: 1n },
      { ...key, y: 1n },
      { ...key, y: 0n },
      { ...key, g: key.p - 1n },
      { ...key, y: key.p - 1n },
      { ...key, y: key.y + key.p },
      { ...key, q: key.q + 2n },
      { ...key, p: 23n, q: 11n, g: 4n, y: 9n },
    ]) {
      expect(read(bad)).toBeNull();
    }
    expect(readDsaKey(sequence(), integer(key.y))).toBeNull();
    expect(readDsaKey(sequence(integer(key.p), integer(key.q), integer(key.g)), new Uint8Array())).toBeNull();
  });
});
