import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../gateway/limits.ts";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

describe("the LIST method", () => {
  it("arrives as GET with list=true", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("LIST /v1/auth/token/accessors?limit=3&list=false"));
    const answer = await client.answer();
    expect(answer.status).toBe(200);
    expect(seen).toMatchObject([{ method: "GET", target: "/v1/auth/token/accessors?limit=3&list=true", body: "" }]);
  });

  it("may have a body, which is passed on", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(`${request("LIST /v1/a", "Content-Length: 2")}{}${request("LIST /v1/b")}`);
    await client.answer();
    await client.answer();
    expect(seen.map((one) => one.target)).toEqual(["/v1/a?list=true", "/v1/b?list=true"]);
    expect(seen.map((one) => one.body)).toEqual(["{}", ""]);
  });

  it("inside a body is only text", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    const inner = request("LIST /v1/inner");
    await client.send(`${request("POST /v1/outer", `Content-Length: ${inner.length}`)}${inner}`);
    await client.answer();
    await client.send(
      `${request("POST /v1/outer", "Transfer-Encoding: chunked")}${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    );
    await client.answer();
    await client.send(request("LIST /v1/last"));
    await client.answer();
    expect(seen.map((one) => [one.method, one.target, one.body])).toEqual([
      ["POST", "/v1/outer", inner],
      ["POST", "/v1/outer", inner],
      ["GET", "/v1/last?list=true", ""],
    ]);
  });
});

describe("a path", () => {
  it.each([
    ["/v1/cubbyhole/a\\b", "/v1/cubbyhole/a%5Cb"],
    ["/\\v1\\x", "/%5Cv1%5Cx"],
    ["/v1/a\\..\\b", "/v1/a%5C..%5Cb"],
    ["/v1/a\\b?c=\\d&e=..%2f/../?", "/v1/a%5Cb?c=\\d&e=..%2f/../?"],
    ["/v1/a..b/...", "/v1/a..b/..."],
    ["/v1/a|b^c\"d{e}[f]'g;h", "/v1/a|b^c\"d{e}[f]'g;h"],
    ["/v1//a/", "/v1//a/"],
    ["/v1/%2F..%2F%5C", "/v1/%2F..%2F%5C"],
  ])("%s arrives as %s, so that nothing after the gateway makes another path of it", async (sent, arrives) => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request(`GET ${sent}`));
    await client.answer();
    expect(seen).toMatchObject([{ target: arrives }]);
    const [path = ""] = arrives.split("?");
    expect(decodeURIComponent(new URL(`http://x${arrives}`).pathname)).toBe(decodeURIComponent(path));
  });

  it.each([
    "/v1/../x",
    "/v1/./x",
    "/..",
    "/v1/x/.",
    "/v1/%2e%2E/x",
    "/v1/.%2e?a=b",
    "/%2e/cdn-cgi/x",
    "/v1/../cdn-cgi/x",
  ])("with a relative part is refused: %s", async (sent) => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request(`GET ${sent}`));
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([400, '{"errors":["relative paths not supported"]}\n']);
    expect(seen).toEqual([]);
  });
});

/** Five requests of every kind, one after the other on the wire, and what the service must see of them. */
const PIPELINE = [
  request("LIST /v1/1"),
  `${request("POST /v1/2", "Content-Length: 7")}{"a":1}`,
  request("GET /v1/3?x=1"),
  `${request("PUT /v1/4", "Transfer-Encoding: chunked")}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`,
  request("LIST /v1/5/?list=0"),
].join("");
const PIPELINE_SEEN = [
  ["GET", "/v1/1?list=true", ""],
  ["POST", "/v1/2", '{"a":1}'],
  ["GET", "/v1/3?x=1", ""],
  ["PUT", "/v1/4", "abcde"],
  ["GET", "/v1/5/?list=true", ""],
];

describe("requests on one connection", () => {
  it("are answered in order when they are pipelined", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(PIPELINE);
    const bodies: string[] = [];
    for (const _ of PIPELINE_SEEN) bodies.push((await client.answer()).body);
    expect(bodies).toEqual(PIPELINE_SEEN.map((parts) => parts.join(" ")));
    expect(seen.map((one) => [one.method, one.target, one.body])).toEqual(PIPELINE_SEEN);
  });

  it("are the same wherever the bytes are cut in two", async () => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url);
    for (let cut = 1; cut < PIPELINE.length; cut++) {
      seen.length = 0;
      const client = await RawClient.connect(port);
      await client.send(PIPELINE.slice(0, cut));
      await nextTurn();
      await nextTurn();
      await client.send(PIPELINE.slice(cut));
      for (const [, target] of PIPELINE_SEEN) expect((await client.answer()).body).toContain(target);
      expect(seen.map((one) => [one.method, one.target, one.body])).toEqual(PIPELINE_SEEN);
      client.socket.destroy();
    }
    // Some 400 connections, one after the other: too many for the usual limit on a busy machine.
  });

  it("are the same byte by byte", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    for (const byte of PIPELINE) {
      await client.send(byte);
      await nextTurn();
    }
    for (const _ of PIPELINE_SEEN) await client.answer();
    expect(seen.map((one) => [one.method, one.target, one.body])).toEqual(PIPELINE_SEEN);
  });

  it("are answered also when the client has ended its side", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    client.socket.end(`${request("GET /v1/1")}${request("LIST /v1/2")}`);
    expect((await client.answer()).body).toBe("GET /v1/1 ");
    expect((await client.answer()).body).toBe("GET /v1/2?list=true ");
    expect(await client.end()).toEqual({ how: "ended", rest: "" });
  });
});

describe("a request's body", () => {
  it("passes unchanged, bytes above ASCII included, with its length, also when it came in chunks", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
    await client.send(request("POST /v1/a", `Content-Length: ${bytes.length}`));
    await client.send(bytes);
    await client.answer();
    await client.send(request("POST /v1/b", "Transfer-Encoding: Chunked"));
    await client.send(`${bytes.length.toString(16).toUpperCase()}\r\n`);
    await client.send(bytes);
    await client.send("\r\n000\r\n\r\n");
    await client.answer();
    expect(seen.map((one) => one.body === bytes.toString("latin1"))).toEqual([true, true]);
    expect(seen[0]?.headers["content-length"]).toBe("300000");
    expect(seen[1]?.headers["content-length"]).toBe("300000");
  });

  it("is asked for when the client waits with it", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("POST /v1/a", "Content-Length: 2", "Expect: 100-continue"));
    expect((await client.answer()).status).toBe(100);
    await client.send("{}");
    expect((await client.answer()).status).toBe(200);
    expect(seen[0]?.body).toBe("{}");
    expect(seen[0]?.headers.expect).toBeUndefined();
  });

  it("is not asked for when it is too large", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { maxBodyBytes: 10 })).port);
    await client.send(request("POST /v1/a", "Content-Length: 11", "Expect: 100-continue"));
    expect((await client.answer()).status).toBe(413);
  });
});

describe("a body that does not come", () => {
  it.each([
    ["announced", request("POST /v1/a", "Content-Length: 1000"), "{"],
    ["chunked", request("POST /v1/a", "Transfer-Encoding: chunked"), "5\r\nab"],
    ["expected", request("POST /v1/a", "Content-Length: 1000", "Expect: 100-continue"), ""],
  ])("keeps no connection to the service from others: %s", async (_, head, half) => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url);
    for (let count = 0; count < LIMITS.maxRequests; count++) {
      const slow = await RawClient.connect(port);
      await slow.send(head + half);
    }
    const client = await RawClient.connect(port);
    await client.send(request("GET /v1/b"));
    expect((await client.answer()).status).toBe(200);
    expect(seen.map(({ target }) => target)).toEqual(["/v1/b"]);
  });

  it("is not passed to the service when the client disconnects", async () => {
    let connections = 0;
    const { server, url } = await startService((_, response) => response.end());
    server.on("connection", () => connections++);
    const { port } = await startTestGateway(url);
    const gone = await RawClient.connect(port);
    await gone.send(`${request("POST /v1/a", "Content-Length: 1000")}{`);
    gone.socket.end();
    await gone.end();
    expect(connections).toBe(0);
  });
});

describe("a client that disconnects", () => {
  it("does not end what it has asked for: the service continues and answers", async () => {
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<boolean>();
    const { url } = await startService((incoming, response) => {
      incoming.resume();
      incoming.on("end", async () => {
        started.resolve();
        await release.promise;
        response.end("done");
      });
      response.on("close", () => closed.resolve(response.writableFinished));
    });
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("POST /v1/a", "Content-Length: 2"));
    await client.send("{}");
    await started.promise;
    client.socket.resetAndDestroy();
    // Another client is served meanwhile, so the gateway has seen the reset when the answer comes.
    await new Promise((resolve) => client.socket.once("close", resolve));
    release.resolve();
    expect(await closed.promise).toBe(true);
  });

  it("has its request completed even after the gateway answered that the service takes too long", async () => {
    const release = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<boolean>();
    const { url } = await startService(async (_, response) => {
      response.on("close", () => closed.resolve(response.writableFinished));
      await release.promise;
      response.end("done");
    });
    const client = await RawClient.connect((await startTestGateway(url, { answerMs: 50 })).port);
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).status).toBe(504);
    await client.end();
    release.resolve();
    expect(await closed.promise).toBe(true);
  });
});
