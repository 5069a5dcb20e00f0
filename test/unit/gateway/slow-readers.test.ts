import { describe, expect, it } from "vitest";
import { transferDueMs } from "../../../gateway/limits.ts";
import { RawClient, request, startService, startTestGateway } from "./support.ts";

/** A service with long answers, which counts what it is asked and how many answers it has not given to the end. */
async function startLongAnswers(bytes = 400_000) {
  const counts = { asked: 0, unfinished: 0 };
  const { url } = await startService((incoming, response) => {
    if (incoming.url === "/v1/sys/health") return void response.end("fine");
    counts.asked++;
    counts.unfinished++;
    response.on("finish", () => counts.unfinished--);
    response.end(Buffer.alloc(bytes, "a"));
  });
  return { url, counts };
}

/** A client that asks for much and reads nothing. */
async function openUnread(port: number, count: number, address?: string): Promise<RawClient> {
  const client = await RawClient.connect(port, address);
  client.socket.pause();
  await client.send(request("GET /v1/long").repeat(count));
  return client;
}

describe("clients that do not read", () => {
  it("hold no place for requests to the service, were it forty with several connections each", async () => {
    const { url, counts } = await startLongAnswers(2_000_000);
    const answerBudgetBytes = 16 * 1024 * 1024;
    const gateway = await startTestGateway(url, { clientSharePercent: 25, answerBudgetBytes });
    const addresses = Array.from({ length: 40 }, (_, index) => `127.0.0.${index + 2}`);
    for (const address of addresses) for (let i = 0; i < 2; i++) await openUnread(gateway.port, 40, address);
    // Until nothing moves any more: what the budget does not hold was cut.
    await settled(counts);
    expect(counts.unfinished).toBe(0);
    const { requests, answerBytes } = gateway.figures();
    expect([requests, answerBytes > 0, answerBytes <= answerBudgetBytes]).toEqual([0, true, true]);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/sys/health") + request("GET /v1/long"));
    expect(await client.answer()).toMatchObject({ status: 200, body: "fine" });
    expect((await client.answer()).body).toHaveLength(2_000_000);
  });

  it("are refused before their request is sent while they leave more than their part unread, and others are not", async () => {
    const { url, counts } = await startLongAnswers(1_200_000);
    const options = { clientSharePercent: 25, answerBudgetBytes: 4 * 1024 * 1024, turnMs: 0 };
    const gateway = await startTestGateway(url, options);
    const stuck = [await openUnread(gateway.port, 40), await openUnread(gateway.port, 40)];
    await settled(counts);
    const { asked } = counts;
    const again = await RawClient.connect(gateway.port);
    await again.send(request("GET /v1/long"));
    const refused = await again.answer();
    expect([refused.status, refused.headers.get("retry-after"), counts.asked]).toEqual([503, "1", asked]);
    const other = await RawClient.connect(gateway.port, "127.0.0.2");
    await other.send(request("GET /v1/long"));
    expect((await other.answer()).status).toBe(200);
    for (const client of stuck) client.socket.resetAndDestroy();
    await expect.poll(() => gateway.figures().answerBytes).toBe(0);
    await again.send(request("GET /v1/sys/health"));
    expect((await again.answer()).status).toBe(200);
  });

  it("lose a connection when another client has none", async () => {
    const { url, counts } = await startLongAnswers();
    const { port } = await startTestGateway(url, { maxConnections: 8 });
    for (let i = 0; i < 8; i++) await openUnread(port, 40, "127.0.0.2");
    await settled(counts);
    const client = await RawClient.connect(port);
    await client.send(request("GET /v1/sys/health"));
    expect((await client.answer()).body).toBe("fine");
  });
});

describe("a client that does not read", () => {
  it("is asked for nothing more while an answer waits for it", async () => {
    const { url, counts } = await startLongAnswers();
    const gateway = await startTestGateway(url);
    const client = await openUnread(gateway.port, 400);
    await settled(counts);
    // One answer more than the system takes for a connection, and the service is free.
    expect(counts).toMatchObject({ asked: expect.any(Number), unfinished: 0 });
    expect(counts.asked).toBeLessThan(100);
    const { requests, answerBytes } = gateway.figures();
    expect([requests, answerBytes > 0, answerBytes < 401_000]).toEqual([0, true, true]);
    const { asked } = counts;
    client.socket.resume();
    for (let count = 0; count <= asked; count++) expect((await client.answer()).body).toHaveLength(400_000);
    await expect.poll(() => gateway.figures().answerBytes).toBe(0);
  });

  it("has answers without a body counted too", async () => {
    const counts = { asked: 0 };
    const { url } = await startService((_incoming, response) => {
      counts.asked++;
      response.writeHead(204, { "X-Padding": "a".repeat(8_000) }).end();
    });
    const gateway = await startTestGateway(url);
    await openUnread(gateway.port, 4_000);
    await settled(counts);
    // The client has not been given all answers, so one waits for it.
    expect(counts.asked).toBeLessThan(4_000);
    const { requests, answerBytes } = gateway.figures();
    expect([requests, answerBytes > 0, answerBytes < 9_000]).toEqual([0, true, true]);
  });

  it("has its own request forgotten: a body takes no budget while the answer to it is not read", async () => {
    const { url } = await startService((incoming, response) => {
      incoming.resume().on("end", () => response.end(Buffer.alloc(16 * 1024 * 1024)));
    });
    const gateway = await startTestGateway(url);
    const client = await RawClient.connect(gateway.port);
    client.socket.pause();
    await client.send(request("POST /v1/a", "Content-Length: 300000"));
    await client.send(Buffer.alloc(300_000));
    await expect.poll(() => gateway.figures().answerBytes).toBeGreaterThan(0);
    await expect.poll(() => gateway.figures()).toMatchObject({ requests: 0, bodyBytes: 0 });
    client.socket.resume();
    expect((await client.answer()).body).toHaveLength(16 * 1024 * 1024);
  });

  it("loses the connection, also when it reads a byte now and then", async () => {
    const { url, counts } = await startLongAnswers(16_384);
    const gateway = await startTestGateway(url, { readMs: 0 });
    const client = await openUnread(gateway.port, 4_000);
    const drip = setInterval(() => client.socket.read(1), 20);
    await expect.poll(() => gateway.figures().connections).toBe(0);
    clearInterval(drip);
    expect(gateway.figures()).toMatchObject({ answerBytes: 0, requests: 0 });
    expect(counts.asked).toBeLessThan(4_000);
  });
});

/** Waits until the service was asked for nothing more for a while. */
async function settled(counts: { readonly asked: number }): Promise<void> {
  let before = 0;
  let quiet = 0;
  const isQuiet = (): boolean => {
    quiet = counts.asked === before ? quiet + 1 : 0;
    before = counts.asked;
    return before > 0 && quiet >= 3;
  };
  await expect.poll(isQuiet, { interval: 150, timeout: 30_000 }).toBe(true);
}

describe("the time that a client has to read", () => {
  it("is half a minute, and a second more for each 16 KiB", () => {
    expect([0, 16, 1024].map((kib) => transferDueMs(kib * 1024, 30_000))).toEqual([30_000, 31_000, 94_000]);
  });
});
