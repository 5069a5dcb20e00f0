import { describe, expect, it } from "vitest";
import { parseGatewayArguments } from "../../../scripts/gateway/arguments.ts";
import { listenFailure } from "../../../scripts/local/listen-address.ts";

describe("the gateway's command line", () => {
  it("needs only the service", () => {
    const command = parseGatewayArguments(["--to", "https://grove.example"]);
    expect(command).toMatchObject({
      ok: true,
      value: { listen: { host: "127.0.0.1", port: 8200 }, upstream: { kind: "origin" } },
    });
  });

  it("takes an IPv6 address, a socket, proxies and a size", () => {
    const flags = [
      "--to=unix:/run/grove",
      "--listen=[::1]:0",
      "--trust-proxy=10.0.0.0/8",
      "--max-body=1024",
      "--client-share=50",
    ];
    expect(parseGatewayArguments(flags)).toMatchObject({
      ok: true,
      value: {
        listen: { host: "::1", port: 0 },
        upstream: { kind: "socket", path: "/run/grove" },
        maxBodyBytes: 1024,
        clientSharePercent: 50,
      },
    });
  });

  it.each([
    [[], "--to"],
    [["--to"], "--to"],
    [["--to", "grove.example"], "--to"],
    [["--to", "ftp://grove.example"], "--to"],
    [["--to", "https://grove.example/v1"], "--to"],
    [["--to", "https://user:secret@grove.example"], "--to"],
    [["--to", "https://grove.example?x=1"], "--to"],
    [["--to", "https://grove.example", "--listen", "8200"], "--listen"],
    [["--to", "https://grove.example", "--listen", "127.0.0.1:70000"], "--listen"],
    [["--to", "https://grove.example", "--listen", "::1:8200"], "--listen"],
    [["--to", "https://grove.example", "--trust-proxy", "all"], "--trust-proxy"],
    [["--to", "https://grove.example", "--max-body", "32MB"], "--max-body"],
    [["--to", "https://grove.example", "--max-body", "0"], "--max-body"],
    [["--to", "https://grove.example", "--client-share", "0"], "--client-share"],
    [["--to", "https://grove.example", "--client-share", "101"], "--client-share"],
    [["--too", "https://grove.example"], "--too"],
    [["https://grove.example"], "https://grove.example"],
  ])("says what is wrong with %j", (flags, named) => {
    const command = parseGatewayArguments(flags);
    expect(command.ok ? "" : (command.error ?? "")).toContain(named);
    expect(JSON.stringify(command)).not.toContain("secret");
  });
});

describe("listenFailure", () => {
  it.each(["EADDRINUSE", "EACCES", "EADDRNOTAVAIL", "EINVAL"])("names the address and the way out: %s", (code) => {
    const text = listenFailure({ host: "127.0.0.1", port: 80 }, code, "choose another");
    expect(text).toContain("127.0.0.1");
    expect(text).toContain("choose another");
  });
});
