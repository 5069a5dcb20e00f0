import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS, privateHosts } from "../../../src/base/outbound-hosts.ts";
import {
  type EndpointSettings,
  endpointOrigin,
  endpointSettings,
  readRevocationEndpoint,
} from "../../../src/lease/revocation-endpoint.ts";
import { environmentWith } from "../../support/environment.ts";

const SETTINGS: EndpointSettings = { hosts: [], services: ["ENGINE"], privateHosts: NO_PRIVATE_HOSTS };

describe("the target of a revocation", () => {
  it("is an https URL of a public host, or a service binding that operators named", () => {
    for (const target of [
      "https://db.example.com/revoke",
      "https://db.example.com:8443/revoke?x=1",
      "https://8.8.8.8/",
      "https://[2606:4700::1111]/x",
      "service://ENGINE",
      "service://ENGINE/revoke/it",
      `https://db.example.com/${"x".repeat(2025)}`,
    ]) {
      expect(readRevocationEndpoint(target, SETTINGS), target).toEqual({ ok: true, value: target });
    }
  });

  it.each([
    ["", "nothing"],
    ["db.example.com", "no scheme"],
    ["http://db.example.com/", "no TLS"],
    ["ftp://db.example.com/", "another scheme"],
    ["javascript:alert(1)", "no host"],
    ["https://user:pass@db.example.com/", "credentials"],
    ["https://db.example.com/#part", "a fragment"],
    ["https://localhost/", "this machine"],
    ["https://LOCALHOST./", "this machine, spelled differently"],
    ["https://localhost../", "this machine, with empty labels"],
    ["https://a..example.com/", "a name with an empty label"],
    ["https://[::127.0.0.1]/", "loopback, in the oldest spelling"],
    ["https://[5f00::1]/", "an address that nobody is given"],
    ["https://x.localhost/", "a name of this machine"],
    ["https://intranet/", "a name without a dot"],
    ["https://db.internal/", "a private name"],
    ["https://printer.local/", "a link-local name"],
    ["https://router.home.arpa./", "a home network"],
    ["https://127.0.0.1/", "loopback"],
    ["https://127.1/", "loopback, short"],
    ["https://0x7f000001/", "loopback, hexadecimal"],
    ["https://2130706433/", "loopback, one number"],
    ["https://0177.0.0.1/", "loopback, octal"],
    ["https://0.0.0.0/", "this machine"],
    ["https://10.0.0.1/", "a private network"],
    ["https://172.16.0.1/", "a private network"],
    ["https://192.168.1.1/", "a private network"],
    ["https://100.64.0.1/", "a carrier's network"],
    ["https://169.254.169.254/latest/meta-data", "the metadata of a cloud machine"],
    ["https://224.0.0.1/", "multicast"],
    ["https://[::1]/", "loopback"],
    ["https://[fe80::1]/", "link-local"],
    ["https://[fd00::1]/", "a private network"],
    ["https://[::ffff:127.0.0.1]/", "loopback, mapped"],
    ["https://[64:ff9b::7f00:1]/", "loopback, translated"],
    ["https://[2002:7f00:1::]/", "loopback, tunnelled"],
    ["service://OTHER/x", "a binding that nobody allowed"],
    ["service://ENGINE?x", "no path"],
    ["service://__proto__", "no binding"],
    [`https://db.example.com/${"x".repeat(2026)}`, "too long"],
  ])("is not %s: %s", (target) => {
    const read = readRevocationEndpoint(target, SETTINGS);
    expect(read.ok).toBe(false);
    if (!read.ok && target.length > 20) expect(read.error).not.toContain(target.slice(8, 20));
  });

  it("can be limited to hosts, exactly or with everything below them", () => {
    const limited = { ...SETTINGS, hosts: ["db.example.com", "*.engines.example.org"] };
    const allowed = (target: string) => readRevocationEndpoint(target, limited).ok;
    expect(allowed("https://db.example.com/x")).toBe(true);
    expect(allowed("https://DB.example.com/x")).toBe(true);
    expect(allowed("https://a.engines.example.org/")).toBe(true);
    expect(allowed("https://engines.example.org/")).toBe(false);
    expect(allowed("https://xengines.example.org/")).toBe(false);
    expect(allowed("https://db.example.com.evil.net/")).toBe(false);
    expect(allowed("https://x.db.example.com/")).toBe(false);
  });

  it("may be nearby and without TLS where the host is on the list, and LEASE_TARGET_HOSTS narrows that too", () => {
    const listed = { ...SETTINGS, privateHosts: privateHosts({ GROVE_PRIVATE_HOSTS: "127.0.0.1,engine.internal" }) };
    const allowed = (target: string, hosts: string[] = []) => readRevocationEndpoint(target, { ...listed, hosts }).ok;
    expect(allowed("http://127.0.0.1:8080/revoke")).toBe(true);
    expect(allowed("http://engine.internal/revoke")).toBe(true);
    expect(allowed("http://127.0.0.2:8080/revoke")).toBe(false);
    expect(allowed("http://db.example.com/")).toBe(false);
    expect(allowed("ftp://127.0.0.1/")).toBe(false);
    expect(allowed("http://127.0.0.1/", ["db.example.com"])).toBe(false);
    expect(allowed("http://127.0.0.1/", ["127.0.0.1"])).toBe(true);
  });

  it("reads its limits from the settings of the deployment", () => {
    const env = { LEASE_TARGET_HOSTS: " A.example.com , ", LEASE_SERVICES: "X, Y" };
    expect(endpointSettings(environmentWith(env))).toEqual({
      hosts: ["a.example.com"],
      services: ["X", "Y"],
      privateHosts: NO_PRIVATE_HOSTS,
    });
  });

  it("belongs to an origin, which has one key", () => {
    expect(endpointOrigin("https://db.example.com/a")).toBe(endpointOrigin("https://db.example.com:443/b?c"));
    expect(endpointOrigin("https://db.example.com:8443/a")).not.toBe(endpointOrigin("https://db.example.com/a"));
    expect(endpointOrigin("service://ENGINE/a")).toBe("service://ENGINE");
  });
});
