import { describe, expect, it } from "vitest";
import { toBase64 } from "../../../../../src/crypto/bytes.ts";
import { verifyIdentity, verifyPkcs7 } from "../../../../../src/methods/aws/documents/identity-document.ts";
import data from "../../../../data/cloud/signed-documents.json" with { type: "json" };

/** Documents that the real cloud signed: /signature and /rsa2048 of one instance, /pkcs7 of another. */
const [first, second] = data.documents;
const document = Buffer.from(first?.document ?? "");
const signature = Buffer.from(first?.signature ?? "", "base64");
const rsa2048 = first?.rsa2048 ?? "";
const dsa = second?.pkcs7 ?? "";

const strict = { allowSha1: false };
const lenient = { allowSha1: true };

describe("documents that the real cloud signed", () => {
  it("verify by the rsa2048 endpoint's signature", async () => {
    expect(await verifyPkcs7(rsa2048, [], strict)).toEqual({
      ok: true,
      value: {
        accountId: "189292791360",
        instanceId: "i-0c5541936caf78c12",
        imageId: "ami-0cbde744623b7506b",
        region: "ap-southeast-2",
        pendingTime: "2026-02-16T00:38:27Z",
        pendingTimeMs: Date.UTC(2026, 1, 16, 0, 38, 27),
      },
    });
  });

  it("verify by the signature endpoint's signature", async () => {
    const result = await verifyIdentity(toBase64(document), toBase64(signature), [], strict);
    expect(result).toMatchObject({ ok: true, value: { instanceId: "i-0c5541936caf78c12" } });
  });

  it("verify by the pkcs7 endpoint's signature (DSA with SHA-1) only with the setting", async () => {
    expect(await verifyPkcs7(dsa, [], lenient)).toMatchObject({
      ok: true,
      value: { instanceId: "i-01c4776ebe87bea77", pendingTime: "2026-03-21T06:25:00Z" },
    });
    expect(await verifyPkcs7(dsa, [], strict)).toEqual({
      ok: false,
      error: {
        code: "invalid_request",
        message: expect.stringMatching(/SHA-1.*rsa2048 endpoint.*ALLOW_SHA1_SIGNATURES/),
      },
    });
  });

  it("verify with the line breaks that base64 tools add", async () => {
    const wrapped = rsa2048.replace(/.{64}/g, "$&\r\n");
    expect((await verifyPkcs7(wrapped, [], strict)).ok).toBe(true);
  });

  it("are refused when the region named is another one", async () => {
    const moved = Buffer.from(first?.document.replaceAll("ap-southeast-2", "ap-southeast-1") ?? "");
    expect((await verifyIdentity(toBase64(moved), toBase64(signature), [], strict)).ok).toBe(false);
  });
});

/** With EVERY_CHANGE=true every position takes all 255 other values (a quarter of an hour), else one of three in turn. */
const EVERY_CHANGE = process.env.EVERY_CHANGE === "true";
const TIME_LIMIT = EVERY_CHANGE ? 3_600_000 : 60_000;

/** Every position, changed in its lowest bit, in its highest bit or in all bits. */
function* changesOf(bytes: Uint8Array): Generator<{ position: number; changed: Buffer }> {
  for (const [position, byte] of bytes.entries()) {
    const values = EVERY_CHANGE ? Array(256).keys() : [[byte ^ 0x01, byte ^ 0x80, byte ^ 0xff][position % 3] ?? 0];
    for (const value of new Set(values)) {
      if (value === byte) continue;
      const changed = Buffer.from(bytes);
      changed[position] = value;
      yield { position, changed };
    }
  }
}

/** Every character of a base64 text, changed to its neighbour in the alphabet, to padding or to a line break. */
function* spellingsOf(text: string): Generator<string> {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const [position, character] of [...text].entries()) {
    const index = alphabet.indexOf(character);
    const others = [alphabet[(index + 1) % 64] ?? "A", "=", "\n"];
    for (const other of EVERY_CHANGE ? others : [others[position % 3]]) {
      if (other !== character) yield text.slice(0, position) + other + text.slice(position + 1);
    }
  }
}

describe("a document of the real cloud with one byte changed is refused", { timeout: TIME_LIMIT }, () => {
  it("rsa2048, in the bytes of the message", async () => {
    for (const { position, changed } of changesOf(Buffer.from(rsa2048, "base64"))) {
      const result = await verifyPkcs7(changed.toString("base64"), [], lenient);
      expect(result.ok, `position ${position}`).toBe(false);
    }
  });

  it("rsa2048, in the text", async () => {
    for (const text of spellingsOf(rsa2048)) expect((await verifyPkcs7(text, [], lenient)).ok).toBe(false);
  });

  it("pkcs7, in the bytes of the message", async () => {
    for (const { position, changed } of changesOf(Buffer.from(dsa, "base64"))) {
      const result = await verifyPkcs7(changed.toString("base64"), [], lenient);
      expect(result.ok, `position ${position}`).toBe(false);
    }
  });

  it("pkcs7, in the text", async () => {
    for (const text of spellingsOf(dsa)) expect((await verifyPkcs7(text, [], lenient)).ok).toBe(false);
  });

  it("signature, in the document and in the signature", async () => {
    for (const { position, changed } of changesOf(document)) {
      const result = await verifyIdentity(toBase64(changed), toBase64(signature), [], lenient);
      expect(result.ok, `document position ${position}`).toBe(false);
    }
    for (const { position, changed } of changesOf(signature)) {
      const result = await verifyIdentity(toBase64(document), toBase64(changed), [], lenient);
      expect(result.ok, `signature position ${position}`).toBe(false);
    }
  });

  it("signature, in the texts", async () => {
    for (const text of spellingsOf(toBase64(document))) {
      expect((await verifyIdentity(text, toBase64(signature), [], lenient)).ok).toBe(false);
    }
    for (const text of spellingsOf(toBase64(signature))) {
      expect((await verifyIdentity(toBase64(document), text, [], lenient)).ok).toBe(false);
    }
  });

  it("any of them, when cut short or continued", async () => {
    for (const text of [rsa2048, dsa]) {
      const bytes = Buffer.from(text, "base64");
      for (let length = 0; length < bytes.length; length++) {
        expect((await verifyPkcs7(toBase64(bytes.subarray(0, length)), [], lenient)).ok).toBe(false);
      }
      for (const extra of [[0], [0, 0], [5, 0], [0x30, 0]]) {
        const longer = Buffer.concat([bytes, Uint8Array.from(extra)]);
        expect((await verifyPkcs7(toBase64(longer), [], lenient)).ok).toBe(false);
      }
    }
  });
});
