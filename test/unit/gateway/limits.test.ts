import { describe, expect, it } from "vitest";
import { FIRST_KEPT_BYTES, LIMITS } from "../../../gateway/limits.ts";
import { MAX_RESTORED_BYTES } from "../../../src/base/limits.ts";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

describe("limits of the head", () => {
  it("allows 100 header lines and 30 KiB, and refuses more with 431", async () => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url);
    const lines = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: a`);
    const cases: [string, number][] = [
      [request("GET /v1/a", ...lines(99)), 200],
      [request("GET /v1/a", ...lines(100)), 431],
      [request("GET /v1/a", `X-Long: ${"a".repeat(30 * 1024)}`), 200],
      [request("GET /v1/a", `X-Long: ${"a".repeat(33 * 1024)}`), 431],
      [request("GET /v1/a", ...Array.from({ length: 40 }, () => `X-Long: ${"a".repeat(1024)}`)), 431],
      [request(`GET /v1/${"a".repeat(33 * 1024)}`), 431],
      // The end never comes; the refusal must not wait for it.
      [`GET /v1/${"a".repeat(33 * 1024)}`, 431],
    ];
    for (const [bytes, status] of cases) {
      const client = await RawClient.connect(port);
      await client.send(bytes);
      expect((await client.answer()).status).toBe(status);
      client.socket.destroy();
    }
    expect(seen).toHaveLength(2);
  });

  it("reads a header full of blanks in no time", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("GET /v1/a", `X-Blank: a${" ".repeat(30_000)}b`, `X-Blank: ${"\t ".repeat(500)}`));
    expect((await client.answer()).status).toBe(200);
  });
});

describe("the limit of requests under way", () => {
  it("refuses more at once, says when to come again, and serves again as soon as one is answered", async () => {
    const waiting: (() => void)[] = [];
    const { url } = await startService((_, response) => waiting.push(() => response.end("done")));
    const { port } = await startTestGateway(url, { maxRequests: 2 });
    const first = await RawClient.connect(port);
    const second = await RawClient.connect(port);
    await first.send(request("GET /v1/a"));
    await second.send(request("GET /v1/b"));
    await expect.poll(() => waiting.length).toBe(2);

    const third = await RawClient.connect(port);
    await third.send(request("GET /v1/c"));
    const refused = await third.answer();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(JSON.parse(refused.body)).toEqual({ errors: ["the service is busy; try again"] });
    expect(waiting).toHaveLength(2);

    for (const answer of waiting) answer();
    expect((await first.answer()).status).toBe(200);
    expect((await second.answer()).status).toBe(200);
    await first.send(request("GET /v1/d"));
    await expect.poll(() => waiting.length).toBe(3);
    waiting[2]?.();
    expect((await first.answer()).status).toBe(200);
  });

  it("counts requests whose clients are gone until the service has answered them", async () => {
    const waiting: (() => void)[] = [];
    const { url } = await startService((_, response) => waiting.push(() => response.end("done")));
    const { port } = await startTestGateway(url, { maxRequests: 1 });
    const ask = async (path: string) => {
      const client = await RawClient.connect(port);
      await client.send(request(`GET ${path}`));
      return client;
    };
    const first = await ask("/v1/a");
    await expect.poll(() => waiting.length).toBe(1);
    first.socket.resetAndDestroy();
    expect((await (await ask("/v1/b")).answer()).status).toBe(503);
    waiting[0]?.();
    await expect
      .poll(async () => {
        await ask("/v1/c");
        return waiting.length;
      })
      .toBe(2);
  });
});

describe("the turn of a request", () => {
  it("is waited for no longer than the limit: then the request is refused, not sent, and the connection continues", async () => {
    const waiting: (() => void)[] = [];
    const { url } = await startService((_, response) => waiting.push(() => response.end("done")));
    const { port } = await startTestGateway(url, { burstMs: 0 });
    for (let sent = 0; sent < LIMITS.maxUpstreamConnections; sent++) {
      await (await RawClient.connect(port)).send(request("GET /v1/a"));
    }
    await expect.poll(() => waiting.length).toBe(LIMITS.maxUpstreamConnections);

    const late = await RawClient.connect(port);
    await late.send(request("GET /v1/late"));
    const refused = await late.answer();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(JSON.parse(refused.body)).toEqual({ errors: ["the service is busy; try again"] });

    for (const answer of waiting.splice(0)) answer();
    await late.send(request("GET /v1/again"));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    expect((await late.answer()).body).toBe("done");
  });
});

describe("a request that waits for its turn", () => {
  /** Takes all turns of a service, has one more request wait, ends its connection, and then lets the service answer. */
  async function endWhileWaiting(end: (client: RawClient) => void) {
    const held: (() => void)[] = [];
    const targets: string[] = [];
    const { url } = await startService(({ url: target = "" }, response) => {
      targets.push(target);
      held.push(() => response.end("done"));
    });
    const gateway = await startTestGateway(url, { burstMs: 600_000 });
    for (let sent = 0; sent < LIMITS.maxUpstreamConnections; sent++) {
      await (await RawClient.connect(gateway.port)).send(request("GET /v1/a"));
    }
    await expect.poll(() => held.length).toBe(LIMITS.maxUpstreamConnections);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("POST /v1/gone"));
    await expect.poll(() => gateway.figures().requests).toBe(LIMITS.maxUpstreamConnections + 1);
    end(client);
    // Its place is free before anything is answered.
    await expect.poll(() => gateway.figures().requests).toBe(LIMITS.maxUpstreamConnections);
    for (const answer of held.splice(0)) answer();
    const next = await RawClient.connect(gateway.port);
    await next.send(request("GET /v1/next"));
    await expect.poll(() => targets.includes("/v1/next")).toBe(true);
    expect(targets).not.toContain("/v1/gone");
    return client;
  }

  it("is dropped when its client disconnects: the service does no work for it, and its place is free", async () => {
    await endWhileWaiting((client) => client.socket.resetAndDestroy());
  });

  it("is refused when its client ends its side, as most that do have gone", async () => {
    const client = await endWhileWaiting(({ socket }) => socket.end());
    const refused = await client.answer();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("is refused at once when its client had ended its side before", async () => {
    const held = new Map<string, () => void>();
    const { url } = await startService(({ url: target = "" }, response) =>
      held.set(target, () => response.end("done")),
    );
    const gateway = await startTestGateway(url, { burstMs: 600_000 });
    const ended = await RawClient.connect(gateway.port);
    ended.socket.end(request("GET /v1/first") + request("POST /v1/second"));
    for (let sent = 0; sent < LIMITS.maxUpstreamConnections; sent++) {
      await (await RawClient.connect(gateway.port)).send(request(`GET /v1/${sent}`));
    }
    // One of them waits: it gets the turn of the first request, and there is none for the second.
    await expect
      .poll(() => [held.size, gateway.figures().requests])
      .toEqual([LIMITS.maxUpstreamConnections, LIMITS.maxUpstreamConnections + 1]);
    held.get("/v1/first")?.();
    expect((await ended.answer()).body).toBe("done");
    expect((await ended.answer()).status).toBe(503);
    expect((await ended.end()).rest).toBe("");
    await expect.poll(() => held.size).toBe(LIMITS.maxUpstreamConnections + 1);
    expect([...held.keys()]).not.toContain("/v1/second");
  });
});

describe("the limit of the body", () => {
  it.each([
    ["announced", "Content-Length: 11", "abcdefghijk"],
    ["announced, before it comes", "Content-Length: 11", ""],
    ["in one chunk", "Transfer-Encoding: chunked", "b\r\nabcdefghijk\r\n0\r\n\r\n"],
    ["in many chunks", "Transfer-Encoding: chunked", "6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n"],
  ])("refuses more with 413: %s", async (_, header, body) => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { maxBodyBytes: 10 })).port);
    await client.send(`${request("POST /v1/a", header)}${body}`);
    const answer = await client.answer();
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toEqual({ errors: ["http: request body too large"] });
    expect((await client.end()).rest).toBe("");
    expect(seen).toEqual([]);
  });

  it.each([
    ["announced", "Content-Length: 10", "abcdefghij"],
    ["in chunks", "Transfer-Encoding: chunked", "5\r\nabcde\r\n5\r\nfghij\r\n0\r\n\r\n"],
  ])("allows exactly the limit: %s", async (_, header, body) => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { maxBodyBytes: 10 })).port);
    await client.send(`${request("POST /v1/a", header)}${body}`);
    expect((await client.answer()).status).toBe(200);
    expect(seen[0]?.body).toBe("abcdefghij");
  });

  it("takes a larger body with a part of a backup, where that goes and nowhere else", async () => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url, { maxBodyBytes: 10, clientSharePercent: 25 });
    const body = "a".repeat(MAX_RESTORED_BYTES);
    const client = await RawClient.connect(port);
    await client.send(`${request("POST /v1/sys/restore/part", `Content-Length: ${body.length}`)}${body}`);
    expect((await client.answer()).status).toBe(200);
    expect(seen[0]?.body.length).toBe(body.length);
    for (const [path, length] of [
      ["/v1/sys/restore/part", MAX_RESTORED_BYTES + 1],
      ["/v1/sys/restore/part/", 11],
      ["/v1/sys/restore/finish", 11],
    ]) {
      const other = await RawClient.connect(port);
      await other.send(request(`POST ${path}`, `Content-Length: ${length}`));
      expect((await other.answer()).status).toBe(413);
    }
  });

  it("takes a part of a backup of the largest size while another address holds a part of which little has come", async () => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url, { clientSharePercent: 25 });
    const head = request("POST /v1/sys/restore/part", `Content-Length: ${MAX_RESTORED_BYTES}`);
    const slow = await RawClient.connect(gateway.port, "127.0.0.2");
    await slow.send(`${head}a`);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(FIRST_KEPT_BYTES);
    const client = await RawClient.connect(gateway.port);
    await client.send(`${head}${"a".repeat(MAX_RESTORED_BYTES)}`);
    expect((await client.answer()).status).toBe(200);
    expect(seen[0]?.body.length).toBe(MAX_RESTORED_BYTES);
  });

  it("counts a body with the memory for what has come of it, at most twice of that, until it is answered", async () => {
    const held: (() => void)[] = [];
    const { url } = await startService((_, response) => held.push(() => response.end("done")));
    const gateway = await startTestGateway(url);
    const announced = await RawClient.connect(gateway.port);
    await announced.send(`${request("POST /v1/a", "Content-Length: 100")}a`);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(100);
    const chunked = await RawClient.connect(gateway.port);
    await chunked.send(`${request("POST /v1/b", "Transfer-Encoding: chunked")}5\r\nabcde\r\n`);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(100 + FIRST_KEPT_BYTES);
    await chunked.send(`${FIRST_KEPT_BYTES.toString(16)}\r\n${"f".repeat(FIRST_KEPT_BYTES)}\r\n`);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(100 + 2 * FIRST_KEPT_BYTES);
    await chunked.send("0\r\n\r\n");
    await expect.poll(() => held.length).toBe(1);
    expect(gateway.figures().bodyBytes).toBe(100 + 2 * FIRST_KEPT_BYTES);
    held[0]?.();
    expect((await chunked.answer()).body).toBe("done");
    await expect.poll(() => gateway.figures().bodyBytes).toBe(100);
    announced.socket.destroy();
    await expect.poll(() => gateway.figures().bodyBytes).toBe(0);
  });

  it.each([
    ["is answered", "0\r\n\r\n", 200],
    ["gets too long", "fffff\r\n", 413],
    ["is malformed", "x\r\n", 400],
    ["does not go on", "", 408],
  ])("gives the budget of a body back when it %s", async (_, rest, status) => {
    const { url } = await startRecorder();
    const bodyMs = status === 408 ? 500 : 600_000;
    const gateway = await startTestGateway(url, { bodyMs });
    const client = await RawClient.connect(gateway.port);
    await client.send(`${request("POST /v1/a", "Transfer-Encoding: chunked")}5\r\nabcde\r\n`);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(FIRST_KEPT_BYTES);
    await client.send(rest);
    expect((await client.answer()).status).toBe(status);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(0);
  });

  it("lets a client that is still sending read the refusal", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { maxBodyBytes: 10 })).port);
    client.socket.pause();
    await client.send(request("POST /v1/a", "Content-Length: 32000000"));
    await client.send(Buffer.alloc(32_000_000));
    client.socket.resume();
    expect((await client.answer()).status).toBe(413);
  });
});

describe("limits of time", () => {
  it("answers 408 to a head that does not come", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { headMs: 50 })).port);
    await client.send("GET /v1/a HTTP/1.1\r\nHost: x\r\n");
    expect((await client.answer()).status).toBe(408);
    await client.end();
  });

  it("answers 408 to a body that does not come", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { bodyMs: 50 })).port);
    await client.send(`${request("POST /v1/a", "Content-Length: 10")}half`);
    expect((await client.answer()).status).toBe(408);
    await client.end();
  });

  it("answers 504 when the service does not answer", async () => {
    const { url } = await startService(() => {});
    const client = await RawClient.connect((await startTestGateway(url, { answerMs: 50 })).port);
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).status).toBe(504);
    await client.end();
  });

  it("answers 503 instead, with Retry-After, at a node whose service waits for another one", async () => {
    const { url } = await startService(() => {});
    const client = await RawClient.connect((await startTestGateway(url, { answerMs: 50, isRestarted: true })).port);
    await client.send(request("GET /v1/a"));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    await client.end();
  });

  it("cuts an answer that the service does not continue with", async () => {
    const { url } = await startService((_, response) => {
      response.writeHead(200, { "Content-Length": 10 });
      response.write("half");
    });
    const client = await RawClient.connect((await startTestGateway(url, { readMs: 50 })).port);
    await client.send(request("GET /v1/a"));
    expect((await client.end()).how).toBe("reset");
  });

  it("closes a connection that is not used", async () => {
    const { url } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { idleMs: 50 })).port);
    await client.send(request("GET /v1/a"));
    await client.answer();
    expect(await client.end()).toEqual({ how: "ended", rest: "" });
  });

  it("drops a client that sends requests and reads no answers", async () => {
    let served = 0;
    const { url } = await startService((_, response) => {
      served++;
      response.writeHead(200, { "X-Long": "x".repeat(12_000) }).end();
    });
    const client = await RawClient.connect((await startTestGateway(url, { readMs: 200 })).port);
    client.socket.pause();
    await client.send(request("HEAD /v1/a").repeat(2000));
    await new Promise((resolve) => {
      client.socket.on("close", resolve);
      client.socket.on("error", resolve);
      const probe = setInterval(() => client.socket.write("G"), 20);
      client.socket.on("close", () => clearInterval(probe));
    });
    expect(served).toBeLessThan(2000);
  });
});
