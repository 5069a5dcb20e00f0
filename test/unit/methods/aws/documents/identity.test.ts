import { generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RegisteredCertificate } from "../../../../../src/methods/aws/documents/certificate.ts";
import { verifyIdentity, verifyPkcs7 } from "../../../../../src/methods/aws/documents/identity-document.ts";
import { makeCertificate, toPem } from "./make.ts";

const document = Buffer.from(
  JSON.stringify({
    accountId: "123456789012",
    instanceId: "i-0123456789abcdef0",
    imageId: "ami-0123456789abcdef0",
    region: "xx-test-1",
    pendingTime: "2026-02-16T00:38:27Z",
  }),
);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
const strong: RegisteredCertificate = { type: "identity", pem: toPem(makeCertificate("cloud", privateKey, 1).der) };
const weak: RegisteredCertificate = {
  type: "identity",
  pem: toPem(makeCertificate("cloud", privateKey, 1, "sha1").der),
};
const identity = document.toString("base64");
const signature = sign("sha256", document, privateKey).toString("base64");
const strict = { allowSha1: false };

async function verdict(text: string, value: string, certificates: RegisteredCertificate[], allowSha1 = false) {
  const result = await verifyIdentity(text, value, certificates, { allowSha1 });
  if (result.ok) return "accepted";
  return "message" in result.error ? result.error.message : result.error.code;
}

describe("identity and signature", () => {
  it("verify with a registered certificate of the type identity", async () => {
    expect(await verdict(identity, signature, [strong])).toBe("accepted");
    expect(await verdict(identity, signature, [{ ...strong, type: "pkcs7" }])).toMatch(/unsuccessful/);
    expect(await verdict(identity, signature, [])).toMatch(/unsuccessful/);
  });

  it("verify when another registered certificate does not fit or does not parse", async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
    const misfit: RegisteredCertificate = { type: "identity", pem: toPem(makeCertificate("cloud", other, 1).der) };
    expect(await verdict(identity, signature, [{ type: "identity", pem: "x" }, misfit, strong])).toBe("accepted");
  });

  it("are refused with a certificate signed with SHA-1, unless the setting is on", async () => {
    expect(await verdict(identity, signature, [weak])).toMatch(/rsa2048 endpoint.*ALLOW_SHA1_SIGNATURES/);
    expect(await verdict(identity, signature, [weak], true)).toBe("accepted");
  });

  it("are refused when the signature is made with SHA-1, whatever the setting", async () => {
    const old = sign("sha1", document, privateKey).toString("base64");
    expect(await verdict(identity, old, [strong], true)).toMatch(/unsuccessful/);
  });

  it("are refused when either is missing or not base64", async () => {
    expect(await verdict("", signature, [strong])).toMatch(/decode the instance identity document/);
    expect(await verdict("e30", signature, [strong])).toMatch(/decode the instance identity document/);
    expect(await verdict(identity, "", [strong])).toMatch(/decode the SHA256 RSA signature/);
    expect(await verdict(identity, "a", [strong])).toMatch(/decode the SHA256 RSA signature/);
    expect(await verdict("A".repeat(100_000), signature, [strong])).toMatch(/decode the instance/);
  });
});

describe("refusals", () => {
  it("repeat nothing of what was sent", async () => {
    for (const text of [identity, "x".repeat(40)]) {
      expect(await verdict(text, "zz-secret-zz", [strong])).not.toMatch(/zz-secret|123456789012|xxxx/);
    }
  });
});

describe("whatever is sent", () => {
  it("is answered without an exception", async () => {
    const text = fc.oneof(
      fc.base64String({ maxLength: 400 }),
      fc.string(),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from([0x30, 0x80, ...bytes]).toString("base64")),
    );
    await fc.assert(
      fc.asyncProperty(text, text, async (left, right) => {
        expect((await verifyPkcs7(left, [strong], strict)).ok).toBe(false);
        expect((await verifyIdentity(left, right, [strong], strict)).ok).toBe(false);
        expect((await verifyIdentity(identity, right, [strong], strict)).ok).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
