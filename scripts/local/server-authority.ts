import tls from "node:tls";
import { err, ok, type Result } from "../../src/base/result.ts";
import { readCertificates } from "./certificate-file.ts";

/** As the CLIs of Vault and OpenBao name the file. */
const NAMES = ["VAULT_CACERT", "BAO_CACERT"] as const;

/**
 * Has this process accept servers whose certificates are of the authorities in the file that the environment names, and no
 * others, as the CLIs of Vault and OpenBao do. Without such a variable nothing changes. The error is for the operator.
 */
export function trustAuthorityIn(environment: NodeJS.ProcessEnv): Result<null, string> {
  const name = NAMES.find((one) => environment[one]);
  const file = name && environment[name];
  if (!file) return ok(null);
  const certificates = readCertificates(name, file);
  if (!certificates.ok) return certificates;
  // Node has it from 24.5 on.
  if (!("setDefaultCACertificates" in tls))
    return err(`${name} needs Node 24.5 or newer; with an older one set NODE_EXTRA_CA_CERTS`);
  tls.setDefaultCACertificates(certificates.value);
  return ok(null);
}
