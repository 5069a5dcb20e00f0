import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { err, ok, type Result } from "../../src/base/result.ts";
import { certificatesIn } from "../../src/base/trusted-cas.ts";

/** Reads the file of `--trust-ca`, "" for none: each certificate in PEM. The error is for the operator. */
export function readTrustedCas(path: string): Result<readonly string[], string> {
  if (path === "") return ok([]);
  try {
    const found = certificatesIn(readFileSync(path, "utf8"));
    const certificates = found.map((body) => new X509Certificate(Buffer.from(body, "base64")).toString());
    return certificates.length > 0 ? ok(certificates) : err(`--trust-ca: ${path} has no certificate in PEM`);
  } catch {
    return err(`--trust-ca takes a file of certificates in PEM; ${path} is none, or can't be read`);
  }
}
