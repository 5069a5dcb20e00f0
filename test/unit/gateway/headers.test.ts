import { describe, expect, it } from "vitest";
import { RawClient, request, startRecorder, startService, startTestGateway, type TestGateway } from "./support.ts";

/** The headers that the service sees of a request with the header lines given. */
async function headersSeen(lines: readonly string[], options: TestGateway = {}) {
  const { url, seen } = await startRecorder();
  const client = await RawClient.connect((await startTestGateway(url, options)).port);
  await client.send(request("GET /v1/a", ...lines));
  await client.answer();
  return seen[0]?.headers ?? {};
}

describe("the client's address", () => {
  it("is set by the gateway, whatever the client claims and however it spells it", async () => {
    const names = [
      "X-Grove-Client-Address",
      "x-grove-client-address",
      "X-GROVE-CLIENT-ADDRESS",
      "X_Grove_Client_Address",
      "X-Grove_Client-Address",
      "X-Grove-Anything",
      "X-Forwarded-For",
      "x_forwarded_for",
      "X-Forwarded-Host",
      "X-Forwarded-Proto",
      "Forwarded",
      "X-Real-IP",
      "x_real_ip",
      "CF-Connecting-IP",
      "cf_connecting_ip",
      "CF-Connecting-IPv6",
      "CF-Pseudo-IPv4",
      "True-Client-IP",
      "X-Client-IP",
      "X-Cluster-Client-IP",
      "MF-Original-URL",
    ];
    const headers = await headersSeen(names.map((name) => `${name}: 203.0.113.66`));
    expect(JSON.stringify(headers)).not.toContain("203.0.113.66");
    expect(headers).toMatchObject({ "x-grove-client-address": "127.0.0.1", "x-forwarded-for": "127.0.0.1" });
  });

  it("is read from X-Forwarded-For when the peer is a trusted proxy", async () => {
    const headers = await headersSeen(
      ["X-Forwarded-For: 203.0.113.66, 198.51.100.9", "X-Grove-Client-Address: 203.0.113.66"],
      { trustProxy: "127.0.0.0/8" },
    );
    expect(headers).toMatchObject({
      "x-grove-client-address": "198.51.100.9",
      "x-forwarded-for": "198.51.100.9",
    });
  });
});

describe("headers", () => {
  it("for this hop only stay here", async () => {
    const headers = await headersSeen([
      "Connection: keep-alive, X-Secret-Of-Hop",
      "X-Secret-Of-Hop: 1",
      "Keep-Alive: timeout=5",
      "TE: trailers",
      "Trailer: X-Check",
      "Upgrade: websocket",
      "Proxy-Connection: keep-alive",
      "Proxy-Authorization: Basic eDp5",
      "Transfer_Encoding: chunked",
    ]);
    expect(Object.keys(headers).sort()).toEqual([
      "host",
      "x-forwarded-for",
      "x-forwarded-host",
      "x-grove-client-address",
    ]);
  });

  it("tell the service by what name the client knows it", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send("GET /v1/a HTTP/1.1\r\nHost: grove.example:8200\r\n\r\n");
    await client.answer();
    expect(seen[0]?.headers).toMatchObject({ host: new URL(url).host, "x-forwarded-host": "grove.example:8200" });
  });

  it("tell the scheme that the client used when a trusted proxy says so", async () => {
    const lines = ["X-Forwarded-Proto: https"];
    expect(await headersSeen(lines, { trustProxy: "127.0.0.0/8" })).toMatchObject({ "x-forwarded-proto": "https" });
    expect(await headersSeen(lines)).not.toHaveProperty("x-forwarded-proto");
  });

  it("of the request pass unchanged otherwise, repeated ones in order", async () => {
    const headers = await headersSeen([
      "X-Vault-Token:  s.abc \t",
      "Authorization: Bearer a b",
      "Cookie: a=1",
      "Cookie: b=2",
      "X-Latin: caf\xe9",
      "X-Empty:",
      "Accept-Encoding: gzip",
    ]);
    expect(headers).toMatchObject({
      "x-vault-token": "s.abc",
      authorization: "Bearer a b",
      cookie: "a=1; b=2",
      "x-latin": "caf\xe9",
      "x-empty": "",
      "accept-encoding": "gzip",
    });
  });

  it("carry the service's own host", async () => {
    expect((await headersSeen([])).host).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it("of the answer pass unchanged, but for those of the hop", async () => {
    const { url } = await startService((_, response) => {
      response.writeHead(
        418,
        [
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["Connection", "X-Hop"],
          ["X-Hop", "1"],
          ["Keep-Alive", "timeout=9"],
          ["Proxy-Authenticate", "Basic"],
          ["Content-Type", "application/json"],
          ["Content-Length", "2"],
        ].flat(),
      );
      response.end("{}");
    });
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("GET /v1/a"));
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([418, "{}"]);
    expect([...answer.headers.keys()].sort()).toEqual(["content-length", "content-type", "date", "set-cookie"]);
  });
});

describe("the paths that the platform keeps to itself", () => {
  it.each(["GET /cdn-cgi/local/scheduled", "POST /cdn-cgi/x"])("are not found: %s", async (line) => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request(line));
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([404, '{"errors":[]}\n']);
    expect(seen).toEqual([]);
  });
});
