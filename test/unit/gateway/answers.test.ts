import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RawClient, request, startRawService, startService, startTestGateway } from "./support.ts";

/** A service that answers every connection with these bytes once a request has come, and then acts. */
async function startScripted(bytes: string, then: "stay" | "end" | "reset" = "stay"): Promise<string> {
  return startRawService((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.from(bytes, "latin1"), () => {
        if (then === "end") socket.end();
        if (then === "reset") socket.resetAndDestroy();
      });
    });
  });
}

describe("an answer without a body", () => {
  it.each([
    ["HEAD with a length", "HEAD /v1/a", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "5"],
    ["HEAD of a chunked answer", "HEAD /v1/a", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", undefined],
    ["204", "DELETE /v1/a", "HTTP/1.1 204 No Content\r\n\r\n", undefined],
    ["204 that claims a length", "GET /v1/a", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", undefined],
    ["304", "GET /v1/a", "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 9\r\n\r\n", "9"],
    ["empty", "GET /v1/a", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "0"],
  ])("ends with its headers: %s", async (_, line, bytes, length) => {
    const client = await RawClient.connect((await startTestGateway(await startScripted(bytes))).port);
    await client.send(request(line));
    const answer = await client.answer({ toHead: true });
    expect(answer.headers.get("content-length")).toBe(length);
    expect(answer.headers.has("transfer-encoding")).toBe(false);
    // The connection is still in step: the next answer is read from where this one ended.
    await client.send("GET nowhere HTTP/1.1\r\n\r\n");
    expect((await client.answer()).status).toBe(400);
  });

  it("follows informational ones, which stay here", async () => {
    const bytes =
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const client = await RawClient.connect((await startTestGateway(await startScripted(bytes))).port);
    await client.send(request("GET /v1/a"));
    expect(await client.answer()).toMatchObject({ status: 200, body: "ok" });
  });
});

describe("a chunked answer", () => {
  it.each([100_000, 3_000_000])(
    "arrives complete and in chunks, whether it is buffered or not: %d bytes",
    async (bytes) => {
      const { url } = await startService((_, response) => {
        response.write("a".repeat(bytes));
        setImmediate(() => response.end("end"));
      });
      const client = await RawClient.connect((await startTestGateway(url)).port);
      await client.send(request("GET /v1/a"));
      const answer = await client.answer();
      expect([answer.headers.get("transfer-encoding"), answer.headers.get("content-length")]).toEqual([
        "chunked",
        undefined,
      ]);
      expect(answer.body === `${"a".repeat(bytes)}end`).toBe(true);
    },
  );

  it("arrives plain at an HTTP/1.0 client, which finds its end by the end of the connection", async () => {
    const { url } = await startService((_, response) => {
      response.write("a".repeat(3_000_000));
      response.end("two");
    });
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send("GET /v1/a HTTP/1.0\r\n\r\n");
    const answer = await client.answer();
    expect([answer.body.length, answer.headers.get("connection")]).toEqual([3_000_003, "close"]);
    expect(answer.headers.has("transfer-encoding")).toBe(false);
  });
});

describe("an answer that the service breaks off", () => {
  const begun = [
    ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"],
    ["chunked, inside a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"],
    ["chunked, between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["chunked, with a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"],
  ] as const;
  const endings = ["end", "reset"] as const;

  it.each(begun.flatMap(([name, bytes]) => endings.map((then) => [name, then, bytes] as const)))(
    "never looks complete: %s, then %s",
    async (_, then, bytes) => {
      const client = await RawClient.connect((await startTestGateway(await startScripted(bytes, then))).port);
      await client.send(request("GET /v1/a"));
      await expect(client.answer()).rejects.toThrow();
      expect((await client.end()).how).toBe("reset");
    },
  );

  it("is a reset also for an HTTP/1.0 client, for which a plain end would mean success", async () => {
    const service = await startScripted(begun[2][1], "end");
    const client = await RawClient.connect((await startTestGateway(service)).port);
    await client.send("GET /v1/a HTTP/1.0\r\n\r\n");
    expect((await client.end()).how).toBe("reset");
  });
});

describe("a service that gives no answer", () => {
  it.each([
    ["ends the connection", "", "end"],
    ["resets the connection", "", "reset"],
    ["speaks something else", "SSH-2.0-OpenSSH_9.6\r\n", "stay"],
    ["answers without an end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody", "end"],
    ["gives two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "end"],
    [
      "gives a length and chunks",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "end",
    ],
    ["switches protocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "stay"],
  ] as const)("is 502: it %s", async (_, bytes, then) => {
    const client = await RawClient.connect((await startTestGateway(await startScripted(bytes, then))).port);
    await client.send(request("GET /v1/a"));
    const answer = await client.answer();
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.body)).toEqual({ errors: [expect.any(String)] });
    expect((await client.end()).rest).toBe("");
  });

  it.each(["end", "reset"] as const)("gets a request on a connection that it used once only: %s", async (then) => {
    const arrived: string[] = [];
    const service = await startRawService((socket) => {
      socket.on("data", (bytes) => {
        const target = bytes.toString("latin1").split(" ")[1] ?? "";
        arrived.push(target);
        if (target !== "/2") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        else if (then === "end") socket.end();
        else socket.resetAndDestroy();
      });
    });
    const audit: string[] = [];
    const gateway = await startTestGateway(service, { audit: (line) => audit.push(line) });
    const statuses: number[] = [];
    for (const target of ["/1", "/2", "/3"]) {
      const client = await RawClient.connect(gateway.port);
      await client.send(request(`GET ${target}`));
      statuses.push((await client.answer()).status);
    }
    expect(statuses).toEqual([200, 502, 200]);
    expect(arrived).toEqual(["/1", "/2", "/3"]);
    expect(audit.map((line) => JSON.parse(line).status)).toEqual([502]);
  });

  it("is 502 when it is not there, and works again when it is, with one line in the log for each", async () => {
    const { server, url } = await startService((_, response) => response.end("back"));
    const { port } = server.address() as AddressInfo;
    const lines: string[] = [];
    const gateway = await startTestGateway(url, { log: (line) => lines.push(line) });
    server.close();
    await once(server, "close");
    for (const _ of [1, 2, 3]) {
      const client = await RawClient.connect(gateway.port);
      await client.send(request("LIST /v1/a"));
      expect((await client.answer()).status).toBe(502);
    }
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).body).toBe("back");
    expect(lines).toHaveLength(2);
  });
});

describe("a long answer", () => {
  it("is given up when its client reads nothing and the budget for answers is full", async () => {
    const total = 64 * 1024 * 1024;
    let left = 0;
    const over = Promise.withResolvers<void>();
    const { url } = await startService((_, response) => {
      const piece = Buffer.alloc(64 * 1024);
      const fill = (): void => {
        while (left < total) {
          left += piece.length;
          if (!response.write(piece)) return;
        }
        response.end();
      };
      response.on("drain", fill);
      response.on("close", () => over.resolve());
      fill();
    });
    const client = await RawClient.connect((await startTestGateway(url, { answerBudgetBytes: 8 * 1024 * 1024 })).port);
    client.socket.pause();
    await client.send(request("GET /v1/a"));
    await over.promise;
    expect(left).toBeLessThan(total);
  });
});

describe("a connection to the service", () => {
  /** The numbers of the connections that two requests came over, with so much time (ms) until the first was answered. */
  async function connectionsOfTwo(answeredAfterMs: number): Promise<number[]> {
    const clock = performance.now.bind(performance);
    let shift = 0;
    const spy = vi.spyOn(performance, "now").mockImplementation(() => clock() + shift);
    onTestFinished(() => spy.mockRestore());
    const sockets: unknown[] = [];
    const used: number[] = [];
    const { url } = await startService((incoming, response) => {
      if (!sockets.includes(incoming.socket)) sockets.push(incoming.socket);
      used.push(sockets.indexOf(incoming.socket));
      shift += answeredAfterMs;
      response.end("done");
    });
    const client = await RawClient.connect((await startTestGateway(url)).port);
    for (const _ of [1, 2]) {
      await client.send(request("GET /v1/a"));
      expect((await client.answer()).status).toBe(200);
    }
    return used;
  }

  it("is used again", async () => {
    expect(await connectionsOfTwo(100)).toEqual([0, 0]);
  });

  it("is not used again long after its last request, however late the answer was read: the service may be closing it", async () => {
    expect(await connectionsOfTwo(4000)).toEqual([0, 1]);
  });
});
