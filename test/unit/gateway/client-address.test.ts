import { describe, expect, it } from "vitest";
import { clientOf } from "../../../gateway/client-address.ts";
import { parseTrustedProxies } from "../../../scripts/gateway/arguments.ts";

function resolve(peer: string, forwardedFor: string[], trustProxy?: string) {
  const trusted = parseTrustedProxies(trustProxy);
  if (!trusted.ok) throw new Error(trusted.error);
  return clientOf(peer, forwardedFor, trusted.value);
}

describe("the address of a client", () => {
  it("is the peer, whatever the peer says", () => {
    expect(resolve("192.0.2.7", ["10.0.0.1"])).toEqual({
      address: "192.0.2.7",
      networks: ["192.0.2.7"],
      throughProxy: false,
    });
  });

  it("is what a trusted proxy says", () => {
    expect(resolve("10.1.2.3", ["198.51.100.9"], "10.0.0.0/8")).toEqual({
      address: "198.51.100.9",
      networks: ["198.51.100.9"],
      throughProxy: true,
    });
  });

  it("is the last address before the trusted proxies, not what that client wrote further left", () => {
    const seen = resolve("10.0.0.1", ["203.0.113.5, 198.51.100.9", "10.0.0.2"], "10.0.0.0/8");
    expect(seen).toEqual({ address: "198.51.100.9", networks: ["198.51.100.9"], throughProxy: true });
  });

  it("is the proxy itself only when the proxy names no client", () => {
    expect(resolve("10.0.0.1", [], "10.0.0.0/8")).toMatchObject({ address: "10.0.0.1", networks: [] });
  });

  it.each([
    ["203.0.113.9:4711", "203.0.113.9"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["::ffff:203.0.113.9", "203.0.113.9"],
    ["[::ffff:203.0.113.9]:80", "203.0.113.9"],
    ["::ffff:cb00:7109", "203.0.113.9"],
    ["[0:0:0:0:0:FFFF:CB00:7109]:80", "203.0.113.9"],
  ])("is read with the port and the brackets that a proxy writes: %s", (text, address) => {
    expect(resolve("10.0.0.1", [text], "10.0.0.0/8").address).toBe(address);
  });

  it.each(["unknown", "", "_hidden", "203.0.113", "10.0.0.2:x", "[10.0.0.2", "198.51.100.9, unknown", "localhost"])(
    "is unknown where the proxy's word can't be read, and never the proxy's own: %j",
    (text) =>
      expect(resolve("10.0.0.1", [text], "10.0.0.0/8")).toMatchObject({ address: "unknown", networks: ["unknown"] }),
  );

  it("has one spelling: IPv4 from an IPv6 socket, no zone", () => {
    expect(resolve("::ffff:192.0.2.7", []).address).toBe("192.0.2.7");
    expect(resolve("::ffff:c000:207", [])).toMatchObject({ address: "192.0.2.7", networks: ["192.0.2.7"] });
    expect(resolve("::ffff:10.0.0.1", ["2001:db8::1"], "10.0.0.0/8").address).toBe("2001:db8::1");
    expect(resolve("fe80::1%eth0", ["192.0.2.1"], "fe80::/10").address).toBe("192.0.2.1");
  });
});

describe("parseTrustedProxies", () => {
  it.each(["", "10.0.0.0/8,", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "example.com", "10.0.0.0/8/8", "10.0.0.0/x"])(
    "refuses %j",
    (text) => expect(parseTrustedProxies(text).ok).toBe(false),
  );

  it("takes single addresses and blocks of both kinds", () => {
    expect(resolve("2001:db8::5", ["192.0.2.1"], "10.0.0.1, 2001:db8::/32").address).toBe("192.0.2.1");
    expect(resolve("10.0.0.2", ["192.0.2.1"], "10.0.0.1, 2001:db8::/32").address).toBe("10.0.0.2");
  });
});
