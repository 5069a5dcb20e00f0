import { ok, type Result } from "../../src/base/result.ts";
import { readCertificates } from "../local/certificate-file.ts";

/** Reads the file of `--trust-ca`, "" for none. */
export function readTrustedCas(path: string): Result<readonly string[], string> {
  return path === "" ? ok([]) : readCertificates("--trust-ca", path);
}
