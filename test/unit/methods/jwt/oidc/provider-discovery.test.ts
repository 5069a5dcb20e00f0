import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS } from "../../../../../src/base/outbound-hosts.ts";
import { codeIn } from "../../../../../src/methods/jwt/oidc/callback.ts";
import { readProvider } from "../../../../../src/methods/jwt/oidc/provider-discovery.ts";

const HOST = "https://login.example.com";
const DOCUMENT = { issuer: HOST, jwks_uri: `${HOST}/keys`, token_endpoint: `${HOST}/token` };
const read = (more: Record<string, unknown> = {}) => readProvider({ ...DOCUMENT, ...more }, HOST, NO_PRIVATE_HOSTS);

describe("a discovery document", () => {
  it("gives the endpoints that may be called, and the issuer exactly as it is", () => {
    expect(read({ issuer: `${HOST}/`, authorization_endpoint: "http://login.example.com/authorize" })).toEqual({
      ok: true,
      value: {
        ...{ issuer: `${HOST}/`, keys: `${HOST}/keys`, token: `${HOST}/token` },
        ...{ authorization: null, userinfo: null, deviceAuthorization: null, graphHost: null },
        ...{ namesIssuer: false, secretInBody: false },
      },
    });
    for (const url of ["https://10.0.0.1/t", "https://localhost/t", "javascript:alert(1)", 1, null]) {
      const provider = read({ token_endpoint: url, authorization_endpoint: url });
      expect(provider).toMatchObject({ ok: true, value: { token: null, authorization: null } });
    }
  });

  it("names Microsoft Graph only where that can be", () => {
    const graphOf = (host: unknown) => read({ msgraph_host: host });
    for (const host of ["graph.microsoft.com", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn"]) {
      expect(graphOf(host)).toMatchObject({ ok: true, value: { graphHost: host } });
    }
    const others = ["evil.example.com", "graph.microsoft.com.evil.example.com", "graph.microsoft.com@10.0.0.1", "", 1];
    for (const host of others) expect(graphOf(host)).toMatchObject({ ok: true, value: { graphHost: null } });
  });

  it.each([
    [{ issuer: "https://other.example.com" }, "names another issuer"],
    [{ issuer: `${HOST}/tenant` }, "names another issuer"],
    [{ issuer: undefined }, "names another issuer"],
    [{ jwks_uri: undefined }, "names no keys"],
    [{ jwks_uri: "http://login.example.com/keys" }, "must be an https URL"],
    [{ jwks_uri: "https://169.254.169.254/" }, "must be a host on the public internet"],
  ])("with %j is refused", (more, message) => {
    expect(read(more)).toMatchObject({ ok: false, error: expect.stringContaining(message) });
  });

  it.each([
    [undefined, false],
    [["client_secret_post", "client_secret_basic"], false],
    [["client_secret_post"], true],
    [["private_key_jwt"], false],
  ])("whose token endpoint takes secrets by %j gets it in the body: %s", (ways, inBody) => {
    expect(read({ token_endpoint_auth_methods_supported: ways })).toMatchObject({ value: { secretInBody: inBody } });
  });
});

describe("an answer of a provider", () => {
  const answer = { state: "s", code: "c", error: "", iss: "" };
  const page = { redirectUri: "https://grove.example.com/ui/x" };
  const command = { redirectUri: "http://localhost:8250/oidc/callback" };
  const silent = { issuer: HOST, namesIssuer: false };
  const naming = { issuer: HOST, namesIssuer: true };

  it.each([
    [silent, page, {}, true],
    [silent, page, { iss: HOST }, true],
    [silent, page, { iss: `${HOST}/` }, false],
    [silent, command, { iss: "https://other.example.com" }, false],
    [naming, page, { iss: HOST }, true],
    [naming, page, {}, false],
    [naming, command, {}, true],
    [silent, page, { code: "" }, false],
    [silent, page, { code: "no_code" }, false],
    [silent, page, { code: "x".repeat(8193) }, false],
    [silent, page, { error: "access_denied" }, false],
  ])("to %j at %j with %j is taken: %s", (provider, login, more, good) => {
    expect(codeIn(provider, login, { ...answer, ...more }).ok).toBe(good);
  });
});
