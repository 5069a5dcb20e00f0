import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { err, ok, type Result } from "../../src/base/result.ts";
import { certificatesIn } from "../../src/base/trusted-cas.ts";

/** Reads a file of certificates: each in PEM. The error is for the operator. @param name of the option or variable. */
export function readCertificates(name: string, path: string): Result<readonly string[], string> {
  try {
    const found = certificatesIn(readFileSync(path, "utf8"));
    const certificates = found.map((body) => new X509Certificate(Buffer.from(body, "base64")).toString());
    return certificates.length > 0 ? ok(certificates) : err(`${name}: ${path} has no certificate in PEM`);
  } catch {
    return err(`${name} takes a file of certificates in PEM; ${path} is none, or can't be read`);
  }
}
