import { describe, expect, it } from "vitest";
import { RawClient, request, startRecorder, startTestGateway } from "./support.ts";

/** What an attacker hopes that the service takes for a request of somebody else. */
const HIDDEN = request("GET /v1/hidden");

/** Sends bytes; whatever they are, the gateway must answer the status, close, and let nothing reach the service. */
async function expectRefused(bytes: string, status = 400): Promise<void> {
  const { url, seen } = await startRecorder();
  const client = await RawClient.connect((await startTestGateway(url)).port);
  await client.send(bytes);
  const answer = await client.answer();
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(Object.keys(JSON.parse(answer.body))).toEqual(["errors"]);
  expect((await client.end()).rest).toBe("");
  expect(seen).toEqual([]);
}

describe("a request whose end is not certain", () => {
  it.each([
    ["two different lengths", ["Content-Length: 5", "Content-Length: 50"]],
    ["two equal lengths", ["Content-Length: 5", "Content-Length: 5"]],
    ["two lengths in one header", ["Content-Length: 5, 5"]],
    ["a length and chunks", ["Content-Length: 5", "Transfer-Encoding: chunked"]],
    ["chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 5"]],
    ["a length with a sign", ["Content-Length: +5"]],
    ["a negative length", ["Content-Length: -5"]],
    ["a length in hexadecimal", ["Content-Length: 0x5"]],
    ["a length with a blank inside", ["Content-Length: 5 0"]],
    ["an empty length", ["Content-Length:"]],
    ["an endless length", ["Content-Length: 99999999999999999999"]],
    ["another transfer coding", ["Transfer-Encoding: gzip"]],
    ["a second transfer coding", ["Transfer-Encoding: gzip, chunked"]],
    ["chunked twice", ["Transfer-Encoding: chunked, chunked"]],
    ["two coding headers", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]],
    ["chunked and identity", ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"]],
    ["a misspelt coding", ["Transfer-Encoding: xchunked"]],
    ["a quoted coding", ['Transfer-Encoding: "chunked"']],
    ["a coding with a parameter", ["Transfer-Encoding: chunked;q=1"]],
    ["an empty coding", ["Transfer-Encoding:"]],
    ["a vertical tab before the coding", ["Transfer-Encoding: \x0bchunked"]],
    ["a non-breaking space after the coding", ["Transfer-Encoding: chunked\xa0"]],
    ["a blank before the colon", ["Transfer-Encoding : chunked"]],
    ["a tab before the colon", ["Content-Length\t: 5"]],
    ["a blank before the name", [" Transfer-Encoding: chunked"]],
    ["a folded coding", ["Transfer-Encoding:", " chunked"]],
    ["a folded header", ["X-Any: a", "\tContent-Length: 5"]],
    ["a bare line feed in a header", ["X-Any: a\nContent-Length: 5"]],
    ["a bare carriage return in a header", ["X-Any: a\rContent-Length: 5"]],
    ["a NUL in a header", ["X-Any: a\0b"]],
    ["a NUL in a name", ["X-\0Any: a"]],
    ["a header without a colon", ["Content-Length 5"]],
    ["a header without a name", [": 5"]],
    ["a name with a slash", ["X/Any: 5"]],
    ["a name above ASCII", ["X-\xc4ny: 5"]],
    ["a second host", ["Host: other.test"]],
    ["a host with a path", ["Host: other.test/x"]],
  ])("is refused: %s", async (_, headers) => {
    await expectRefused(`${request("POST /v1/a", ...headers)}0\r\n\r\n${HIDDEN}`);
  });

  it("is refused when a chunked body comes from an HTTP/1.0 client", async () => {
    await expectRefused(`POST /v1/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`);
  });

  it("is refused without a host, or when the host says nothing sensible", async () => {
    await expectRefused("GET /v1/a HTTP/1.1\r\n\r\n");
    await expectRefused("GET /v1/a HTTP/1.1\r\nHost: a b\r\n\r\n");
    await expectRefused("GET /v1/a HTTP/1.1\r\nHost: user@other.test\r\n\r\n");
  });
});

describe("a request line out of order", () => {
  it.each([
    ["no version (HTTP/0.9)", "GET /v1/a\r\n"],
    ["HTTP/0.9 by name", "GET /v1/a HTTP/0.9\r\n\r\n"],
    ["HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["HTTP/1.2", "GET /v1/a HTTP/1.2\r\nHost: x\r\n\r\n"],
    ["a version in lower case", "GET /v1/a http/1.1\r\nHost: x\r\n\r\n"],
    ["a longer version", "GET /v1/a HTTP/1.10\r\nHost: x\r\n\r\n"],
    ["an absolute target", "GET http://other.test/v1/a HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a target without a slash", "GET v1/a HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a fragment", "GET /v1/a#b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a blank in the target", "GET /v1/a b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a byte above ASCII in the target", "GET /v1/\xe4 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a tab between the parts", "GET\t/v1/a HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["two blanks between the parts", "GET  /v1/a HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a blank at the end", "GET /v1/a HTTP/1.1 \r\nHost: x\r\n\r\n"],
    ["an empty line first", "\r\nGET /v1/a HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["bare line feeds", "GET /v1/a HTTP/1.1\nHost: x\n\n"],
    ["a bare carriage return", "GET /v1/a HTTP/1.1\rHost: x\r\r\n\r\n"],
    ["a line feed alone", "\n"],
  ])("is refused: %s", async (_, bytes) => {
    await expectRefused(bytes);
  });

  it.each(["CONNECT grove.test:443", "TRACE /v1/a", "SCAN /v1/a", "list /v1/a", "G\x7fT /v1/a"])(
    "is refused by its method: %j",
    async (line) => {
      await expectRefused(request(line), line.includes("\x7f") ? 400 : 405);
    },
  );
});

describe("a chunked body out of order", () => {
  it.each([
    ["no size", "\r\nabc\r\n0\r\n\r\n"],
    ["a size that is no number", "xyz\r\nabc\r\n0\r\n\r\n"],
    ["a size with a prefix", "0x3\r\nabc\r\n0\r\n\r\n"],
    ["a size with a sign", "+3\r\nabc\r\n0\r\n\r\n"],
    ["a negative size", "-3\r\nabc\r\n0\r\n\r\n"],
    ["a size with a blank", "3 \r\nabc\r\n0\r\n\r\n"],
    ["an extension", "3;a=b\r\nabc\r\n0\r\n\r\n"],
    ["an extension with a line feed", "3;\nabc\r\n0\r\n\r\n"],
    ["a size too long to be one", "000000003\r\nabc\r\n0\r\n\r\n"],
    ["a size that overflows", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"],
    ["a size without an end", "33333333333333333333333"],
    ["a bare line feed after the size", "3\nabc\r\n0\r\n\r\n"],
    ["a bare carriage return after the size", "3\rabc\r\n0\r\n\r\n"],
    ["more than the size", "3\r\nabcd\r\n0\r\n\r\n"],
    ["less than the size", "5\r\nabc\r\n0\r\n\r\n"],
    ["a bare line feed after the chunk", "3\r\nabc\n0\r\n\r\n"],
    ["a bare line feed at the end", "3\r\nabc\r\n0\r\n\n"],
    ["a field after the body", "3\r\nabc\r\n0\r\nA: b\r\n\r\n"],
    ["a length after the body", "3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n"],
  ])("is refused and not completed at the service: %s", async (_, body) => {
    await expectRefused(`${request("POST /v1/a", "Transfer-Encoding: chunked")}${body}${HIDDEN}`);
  });
});

describe("a client that names headers for this hop only", () => {
  it("cannot change how the request is framed or who sent it", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    const named = "Connection: Content-Length, Host, X-Forwarded-For, X-Grove-Client-Address";
    await client.send(`${request("POST /v1/a", "Content-Length: 2", named)}{}${request("GET /v1/b")}`);
    await client.answer();
    await client.answer();
    expect(seen.map((one) => one.body)).toEqual(["{}", ""]);
    expect(seen[0]?.headers).toMatchObject({
      host: new URL(url).host,
      "content-length": "2",
      "x-forwarded-for": "127.0.0.1",
      "x-grove-client-address": "127.0.0.1",
    });
  });
});
