import { withoutWhiteSpace } from "./white-space.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g;

/** The certificates in a PEM text, each as base64 in one line. */
export function certificatesIn(pem: string): readonly string[] {
  return [...pem.matchAll(CERTIFICATE)].map(([, body = ""]) => withoutWhiteSpace(body));
}

/** True when a PEM text has certificates and this server trusts all of them: a Worker can't trust a CA for one call. */
export function trustsAll(
  { GROVE_TRUSTED_CAS: trusted = "" }: { readonly GROVE_TRUSTED_CAS?: string },
  pem: string,
): boolean {
  const known = new Set(certificatesIn(trusted));
  const certificates = certificatesIn(pem);
  return certificates.length > 0 && certificates.every((one) => known.has(one));
}
