import { describe, expect, it, vi } from "vitest";
import {
  isListed,
  NO_PRIVATE_HOSTS,
  outboundProblem,
  type PrivateHosts,
  privateHosts,
  readPrivateHosts,
} from "../../../src/base/outbound-hosts.ts";
import type { Result } from "../../../src/base/result.ts";
import { callService } from "../../../src/methods/aws/clients/client.ts";
import { askIssuer, fetchJson } from "../../../src/methods/jwt/fetch-json.ts";
import { readNamespaceLabels } from "../../../src/methods/kubernetes/api-server.ts";

const listed = (list: string, url: string) =>
  isListed(privateHosts({ GROVE_PRIVATE_HOSTS: list }), new URL(url).hostname);

describe("the list of private hosts", () => {
  it.each([
    ["10.0.0.5", "http://10.0.0.5:8080/"],
    ["10.0.0.5", "http://0xa000005/"],
    ["10.0.0.5", "http://[::ffff:10.0.0.5]/"],
    ["192.168.0.0/16,10.0.0.0/8", "http://10.200.3.4/"],
    ["fd00::/8", "http://[fd12::1]/"],
    ["Engine.Internal", "http://engine.internal./"],
    ["localhost", "http://LOCALHOST/"],
  ])("%s has %s", (list, url) => expect(listed(list, url)).toBe(true));

  it.each([
    ["", "http://10.0.0.5/"],
    ["10.0.0.5", "http://10.0.0.6/"],
    ["10.0.0.5", "http://10.0.0.5.nip.io/"],
    ["10.0.0.0/8", "http://[fd00::1]/"],
    ["internal", "http://engine.internal/"],
    ["engine.internal", "http://xengine.internal/"],
    ["localhost", "http://127.0.0.1/"],
    ["true", "http://10.0.0.5/"],
  ])("%s has not %s", (list, url) => expect(listed(list, url)).toBe(false));

  it.each([
    "10.0.0.0/33",
    "10.0.0.5:80",
    "http://10.0.0.5",
    "*.internal",
    "10.1",
    "010.0.0.1",
    "0x0a000001",
    "10.0.0.5,",
    ",",
    " ",
    "[::1]",
    "a b",
  ])("with %j in it is invalid, and then has no host", (list) => {
    expect(readPrivateHosts(list).ok).toBe(false);
    expect(listed(`10.0.0.5,${list}`, "http://10.0.0.5/")).toBe(false);
  });
});

describe("a request to a host that somebody configured", () => {
  const HOSTS = privateHosts({ GROVE_PRIVATE_HOSTS: "10.0.0.5,engine.internal" });

  it("is https to the public internet, and may be http to what is listed", () => {
    const problem = (url: string) => outboundProblem(new URL(url), HOSTS);
    expect(problem("https://db.example.com/")).toBeNull();
    expect(problem("http://10.0.0.5/")).toBeNull();
    expect(problem("https://engine.internal/")).toBeNull();
    expect(problem("http://db.example.com/")).toBe("scheme");
    expect(problem("ftp://10.0.0.5/")).toBe("scheme");
    expect(problem("https://10.0.0.6/")).toBe("host");
    expect(problem("https://other.internal/")).toBe("host");
  });

  const url = "http://10.0.0.5/keys";
  const request = { method: "GET", url, headers: {}, body: null } as const;
  it.each<[string, (listed: PrivateHosts) => Promise<Result<unknown, unknown>>]>([
    ["the keys of an issuer", (listed) => fetchJson(url, listed)],
    ["a provider of logins", (listed) => askIssuer(request, listed)],
    [
      "an API server",
      (listed) => readNamespaceLabels({ url, bearer: "", asker: "reviewer", listed, tellsCause: false }, "web"),
    ],
    ["a service of the cloud", (hosts) => callService("EC2", { hosts, maxRetries: 0 }, async () => request)],
  ])("for %s is judged where it goes out", async (_, ask) => {
    const answer = { kind: "Namespace", metadata: { name: "web" } };
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json(answer));
    expect((await ask(HOSTS)).ok).toBe(true);
    spy.mockClear();
    expect((await ask(NO_PRIVATE_HOSTS)).ok).toBe(false);
    expect(spy).not.toHaveBeenCalled();
  });
});
