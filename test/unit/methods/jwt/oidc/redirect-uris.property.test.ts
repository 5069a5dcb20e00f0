import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isAllowedRedirect,
  isLoopback,
  meantCallback,
  redirectProblem,
} from "../../../../../src/methods/jwt/oidc/redirect-uris.ts";

const ALLOWED = [
  "http://localhost:8250/oidc/callback",
  "http://127.0.0.1/cb?x=1",
  "http://[::1]:1/cb",
  "https://grove.example.com/ui/signed-in",
  "https://localhost:8250/cb",
  "com.example.app:/cb",
];

describe("an address that logins return to", () => {
  it.each([
    ...ALLOWED,
    "http://localhost/oidc/callback",
    "http://localhost:65535/oidc/callback",
    "http://127.0.0.1:9/cb?x=1",
    "http://[::1]/cb",
  ])("may be %s", (uri) => {
    expect(isAllowedRedirect(uri, ALLOWED)).toBe(true);
  });

  it.each([
    // Another spelling, another case, more, less.
    "http://LOCALHOST:8250/oidc/callback",
    "HTTP://localhost:8250/oidc/callback",
    "http://localhost:8250/oidc/callback/",
    "http://localhost:8250/oidc/callback?a=b",
    "http://localhost:8250/OIDC/callback",
    "http://localhost:8250/oidc/../oidc/callback",
    "http://localhost:8250/oidc%2fcallback",
    "http://localhost:8250//oidc/callback",
    "http://localhost:/oidc/callback",
    "http://localhost:123456/oidc/callback",
    // Another address of the own machine, or another scheme.
    "http://127.0.0.1:8250/oidc/callback",
    "http://127.0.0.2/cb?x=1",
    "http://0x7f.1/cb?x=1",
    "http://[0:0:0:0:0:0:0:1]:1/cb",
    "https://localhost:8251/cb",
    "https://localhost:8250/oidc/callback",
    // Hosts that only look alike.
    "http://localhost.example.com:8250/oidc/callback",
    "http://localhost:8250@evil.example/oidc/callback",
    "http://evil.example/http://localhost:8250/oidc/callback",
    "http://localhost:8250\\@evil.example/oidc/callback",
    "http://localhost:8250/oidc/callback#x",
    "http://localhost:8250/oidc/callback\n",
    " http://localhost:8250/oidc/callback",
    "https://grove.example.com:444/ui/signed-in",
    "https://grove.example.com./ui/signed-in",
    "https://grove.example.com.evil.example/ui/signed-in",
    "https://evil.example/?https://grove.example.com/ui/signed-in",
    "com.example.app:/cb/more",
    "javascript:alert(1)",
    "",
  ])("may not be %s", (uri) => {
    expect(isAllowedRedirect(uri, ALLOWED)).toBe(false);
  });

  it("is on the list, or differs from one of it by the port of the own machine alone", () => {
    const host = fc.constantFrom("localhost", "127.0.0.1", "[::1]", "grove.example.com", "localhost.evil.example");
    const port = fc.constantFrom("", ":1", ":8250", ":65535");
    const rest = fc.constantFrom("", "/", "/cb", "/cb?x=1", "/cb/", "/CB");
    const scheme = fc.constantFrom("http", "https");
    const uri = fc.record({ scheme, host, port, rest });
    const text = (one: { scheme: string; host: string; port: string; rest: string }) =>
      `${one.scheme}://${one.host}${one.port}${one.rest}`;
    fc.assert(
      fc.property(uri, fc.array(uri, { maxLength: 4 }), (asked, allowed) => {
        const isOwn = asked.scheme === "http" && ["localhost", "127.0.0.1", "[::1]"].includes(asked.host);
        const fits = allowed.some((one) =>
          isOwn ? text({ ...one, port: "" }) === text({ ...asked, port: "" }) : text(one) === text(asked),
        );
        expect(isAllowedRedirect(text(asked), allowed.map(text))).toBe(fits);
        expect(isLoopback(text(asked))).toBe(isOwn);
      }),
    );
  });

  it("is read by the parser of browsers as it is written, whatever the list has", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), fc.string({ maxLength: 8 }), (url, more) => {
        const uri = url + more;
        if (redirectProblem(uri) !== null) return;
        const { origin, username, hash } = new URL(uri);
        expect([username, hash]).toEqual(["", ""]);
        expect(uri.toLowerCase().startsWith(origin.toLowerCase().replace(/:\d+$/, ""))).toBe(true);
      }),
    );
  });
});

describe("the callback that a client of a direct login means", () => {
  const MEANT = "https://grove.example.com/v1/auth/people/entra/oidc/callback";

  it.each([
    MEANT,
    "https://grove.example.com/v1/auth/people/entra//oidc/callback",
    "https://grove.example.com:/v1/auth/people/entra/oidc/callback",
    "https://grove.example.com:/v1/auth/people/entra//oidc/callback",
  ])("has neither an empty port nor two slashes: %s", (uri) => {
    expect(meantCallback(uri, "people/entra/")).toBe(MEANT);
  });

  it.each([
    "https://grove.example.com:8200/v1/auth/people/entra/oidc/callback",
    "https://[::1]/v1/auth/people/entra/oidc/callback",
    "https://grove.example.com/v1/auth/people//entra/oidc/callback",
    "https://grove.example.com/v1/auth/oidc//oidc/callback",
    "https://grove.example.com/cb?to=x:/v1/auth/people/entra/oidc/callback",
    "com.example.app:/cb",
  ])("is otherwise what the client sends: %s", (uri) => {
    expect(meantCallback(uri, "people/entra/")).toBe(uri);
  });
});
