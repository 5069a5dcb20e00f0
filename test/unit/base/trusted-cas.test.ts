import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS } from "../../../src/base/outbound-hosts.ts";
import { certificatesIn, trustsAll } from "../../../src/base/trusted-cas.ts";
import { CONFIG_FIELDS, readConfig } from "../../../src/methods/jwt/config.ts";
import { CLUSTER_FIELDS, readClusterConfig } from "../../../src/methods/kubernetes/config.ts";
import { valuesOf } from "../../support/values.ts";

const pem = (...bodies: readonly string[]) =>
  bodies.map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`).join("");

describe("certificates that a server trusts", () => {
  const trusted = { GROVE_TRUSTED_CAS: pem("AAAA", "BBBB\nCCCC") };

  it("are found in any text, whatever their lines", () => {
    expect(certificatesIn(`# note\n${pem("AA\r\nAA")}${pem("BB")}`)).toEqual(["AAAA", "BB"]);
  });

  it("must be all that a text has, and some", () => {
    expect(trustsAll(trusted, pem("AA AA"))).toBe(true);
    expect(trustsAll(trusted, pem("BBBBCCCC", "AAAA"))).toBe(true);
    for (const other of ["", "x", pem("AAAA", "DDDD"), pem("AAA"), pem("BBBB")])
      expect(trustsAll(trusted, other)).toBe(false);
    expect(trustsAll({}, pem("AAAA"))).toBe(false);
    expect(trustsAll({ GROVE_TRUSTED_CAS: "" }, pem(""))).toBe(false);
  });

  it("are the only ones that a cluster may be set with", () => {
    const read = (kubernetes_ca_cert: string) =>
      readClusterConfig(
        valuesOf(CLUSTER_FIELDS, { kubernetes_host: "cluster.example.com", kubernetes_ca_cert }),
        NO_PRIVATE_HOSTS,
        trusted,
      );
    expect(read(pem("AAAA"))).toMatchObject({ ok: true, value: { caCert: pem("AAAA") } });
    expect(read(pem("DDDD")).ok).toBe(false);
    expect(read(pem("AAAA").repeat(2_000)).ok).toBe(false);
  });

  it("are the only ones that an issuer may be set with", () => {
    const read = (fields: Record<string, unknown>) =>
      readConfig(
        valuesOf(CONFIG_FIELDS, { oidc_discovery_url: "https://issuer.example.com", ...fields }),
        NO_PRIVATE_HOSTS,
        trusted,
      );
    expect(read({ oidc_discovery_ca_pem: pem("AAAA") })).toMatchObject({
      ok: true,
      value: { config: { discoveryCa: pem("AAAA") } },
    });
    expect(read({ jwks_ca_pem: pem("AAAA") })).toMatchObject({ ok: true, value: { config: { jwksCa: pem("AAAA") } } });
    for (const field of ["oidc_discovery_ca_pem", "jwks_ca_pem"]) {
      for (const other of ["x", pem("DDDD"), pem("AAAA", "DDDD")]) expect(read({ [field]: other }).ok).toBe(false);
    }
  });
});
