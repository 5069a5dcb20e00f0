import { describe, expect, it } from "vitest";
import { FIRST_KEPT_BYTES, LIMITS } from "../../../gateway/limits.ts";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

/** Opens connections that each send the same bytes, and nothing more; reading goes on, so that refusals arrive. */
async function openMany(port: number, count: number, bytes: Buffer | string): Promise<RawClient[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = await RawClient.connect(port);
      client.socket.write(bytes);
      return client;
    }),
  );
}

async function statusOf(port: number, head = request("GET /v1/sys/health"), body = ""): Promise<number> {
  const client = await RawClient.connect(port);
  await client.send(head + body);
  const { status } = await client.answer();
  client.socket.destroy();
  return status;
}

describe("a client that sends half of many bodies", () => {
  // Bodies that are larger than the service takes by default are refused by their announced length; here they are allowed.
  it.each([1024 * 1024, 2 * 1024 * 1024])("silences nobody, itself included: bodies up to %d", async (maxBodyBytes) => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url, { maxBodyBytes, clientSharePercent: 25 });
    const half = (length: number, sent: number) =>
      Buffer.concat([Buffer.from(request("POST /v1/auth/aws/login", `Content-Length: ${length}`)), Buffer.alloc(sent)]);
    await openMany(port, 150, half(1_108_576, 1_068_576));
    expect(await statusOf(port)).toBe(200);
    await openMany(port, 300, half(200_000, 66_000));
    expect(await statusOf(port)).toBe(200);
    // A short body comes at once and needs no budget.
    expect(await statusOf(port, request("POST /v1/auth/aws/login", "Content-Length: 2"), "{}")).toBe(200);
    expect(seen.map(({ target }) => target)).toEqual(["/v1/sys/health", "/v1/sys/health", "/v1/auth/aws/login"]);
  });

  it("gets an answer that there is no budget, with Retry-After", async () => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url, { clientSharePercent: 25 });
    // Eight of them fill the eight MiB that one client may use.
    const half = Buffer.concat([
      Buffer.from(request("POST /v1/a", "Content-Length: 1048576")),
      Buffer.alloc(1024 * 1024 - 1),
    ]);
    const clients = await openMany(gateway.port, 9, half);
    const refused = await Promise.race(clients.map((client) => client.answer()));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(seen).toEqual([]);
    for (const client of clients) client.socket.resetAndDestroy();
    await expect.poll(() => gateway.figures().bodyBytes).toBe(0);
  });

  it("is refused when it is slow: a body has a minimum rate", async () => {
    const { url, seen } = await startRecorder();
    const { port } = await startTestGateway(url, { bodyMs: 50 });
    const client = await RawClient.connect(port);
    await client.send(request("POST /v1/a", "Content-Length: 100000"));
    const drip = setInterval(() => client.socket.write("a"), 10);
    const answer = await client.answer();
    clearInterval(drip);
    expect(answer.status).toBe(408);
    expect(seen).toEqual([]);
  });
});

describe("many clients that send most of a large body and no more", () => {
  it("lose it when others need the budget", async () => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url, { clientSharePercent: 25 });
    const half = Buffer.concat([
      Buffer.from(request("POST /v1/a", "Content-Length: 1048576")),
      Buffer.alloc(1024 * 1024 - 1),
    ]);
    // They fill the budget.
    for (let i = 2; i < 42; i++) {
      const client = await RawClient.connect(gateway.port, `127.0.0.${i}`);
      client.socket.write(half);
    }
    await expect.poll(() => gateway.figures().bodyBytes).toBe(LIMITS.bodyBudgetBytes);
    const other = await RawClient.connect(gateway.port);
    await other.send(request("POST /v1/a", "Content-Length: 500000"));
    await other.send(Buffer.alloc(250_000));
    await other.send(Buffer.alloc(250_000));
    expect((await other.answer()).status).toBe(200);
    expect(seen.map(({ body }) => body.length)).toEqual([500_000]);
  });
});

describe("clients that begin a request and do not send the rest", () => {
  it("lose a connection when another client has none", async () => {
    const { url } = await startRecorder();
    const { port } = await startTestGateway(url, { maxConnections: 8 });
    await openMany(port, 4, "GET /v1/a HTTP/1.1\r\n");
    await openMany(port, 4, request("POST /v1/a", "Content-Length: 10"));
    for (let i = 0; i < 8; i++) expect(await statusOf(port)).toBe(200);
  });
});

describe("many clients that announce large bodies and send one byte of each", () => {
  it("do not use up the budget: a body that comes in two pieces is served", async () => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url, { clientSharePercent: 25 });
    // The gateway has read a head when it asks for the body.
    const begin = async (length: number, address: string) => {
      const client = await RawClient.connect(gateway.port, address);
      await client.send(request("POST /v1/a", `Content-Length: ${length}`, "Expect: 100-continue"));
      expect((await client.answer()).status).toBe(100);
      return client;
    };
    // 32 bodies of the greatest size fill the budget.
    const addresses = Array.from({ length: 32 }, (_, index) => `127.0.0.${index + 2}`);
    const clients = await Promise.all(
      addresses.flatMap((address) => Array(16).fill(address)).map((address) => begin(1024 * 1024, address)),
    );
    await Promise.all(clients.map((client) => client.send("a")));
    const other = await begin(100_000, "127.0.0.99");
    await other.send("b".repeat(100_000));
    expect((await other.answer()).status).toBe(200);
    expect(seen.map(({ body }) => body.length)).toEqual([100_000]);
    await expect.poll(() => gateway.figures().bodyBytes).toBe(clients.length * FIRST_KEPT_BYTES);
    for (const client of clients) client.socket.resetAndDestroy();
    await expect.poll(() => gateway.figures().bodyBytes).toBe(0);
  });
});

describe("a client that opens many connections", () => {
  it("loses the one that it used least recently, and others lose none", async () => {
    const { url } = await startRecorder();
    const { port } = await startTestGateway(url, { maxConnections: 8, clientSharePercent: 50 });
    const [first, second, third] = [
      await RawClient.connect(port),
      await RawClient.connect(port),
      await RawClient.connect(port),
    ];
    await first.send(request("GET /v1/a"));
    await first.answer();
    await openMany(port, 2, "");
    expect((await second.end()).how).toBe("ended");
    expect(await statusOf(port)).toBe(200);
    expect((await third.end()).how).toBe("ended");
    await first.send(request("GET /v1/a"));
    expect((await first.answer()).status).toBe(200);
  });

  it("is turned away when all of them are in use", async () => {
    const arrived: string[] = [];
    const { url } = await startService(({ url: target = "" }) => arrived.push(target));
    const lines: string[] = [];
    const audit = (line: string) => lines.push(line);
    const { port } = await startTestGateway(url, { maxConnections: 8, clientSharePercent: 25, audit });
    await openMany(port, 2, request("GET /v1/a"));
    await expect.poll(() => arrived.length).toBe(2);
    const third = await RawClient.connect(port);
    expect((await third.answer()).status).toBe(503);
    expect((await third.end()).rest).toBe("");
    expect(lines.map((line) => JSON.parse(line).status)).toEqual([503]);
  });

  it("through a trusted proxy is bounded by the address that the proxy vouches for, the proxy is not", async () => {
    const arrived: string[] = [];
    const { url } = await startService(({ url: target = "" }) => arrived.push(target));
    const options = { maxConnections: 8, maxRequests: 4, clientSharePercent: 25, trustProxy: "127.0.0.0/8" };
    const { port } = await startTestGateway(url, options);
    const from = (address: string) => request(`GET /v1/${address}`, `X-Forwarded-For: ${address}`);
    for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) await openMany(port, 1, from(address));
    await expect.poll(() => arrived.length).toBe(3);
    const again = await RawClient.connect(port);
    await again.send(from("192.0.2.1"));
    expect((await again.answer()).status).toBe(503);
    expect(arrived).toHaveLength(3);
  });
});

describe("many clients behind one address that come at once", () => {
  it("are all served, by a slow service too, and another client need not wait for them", async () => {
    const held: (() => void)[] = [];
    const { url } = await startService(({ url: target = "" }, response) => held.push(() => response.end(target)));
    const lines: string[] = [];
    const { port } = await startTestGateway(url, {
      clientSharePercent: 25,
      audit: (line) => lines.push(line),
      // Those of a client that asks for too much all the time would not wait.
      turnMs: 0,
    });
    const runners = await openMany(port, 128, request("GET /v1/runner"));
    const inFlight = LIMITS.maxUpstreamConnections / 4;
    await expect.poll(() => held.length).toBe(inFlight);
    const other = await RawClient.connect(port, "127.0.0.2");
    await other.send(request("GET /v1/other"));
    await expect.poll(() => held.length).toBe(inFlight + 1);
    held.pop()?.();
    expect((await other.answer()).body).toBe("/v1/other");
    const answers = Promise.all(runners.map((runner) => runner.answer()));
    const serving = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 60);
    expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([200]));
    clearInterval(serving);
    expect(lines).toEqual([]);
  });
});
