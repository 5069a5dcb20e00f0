import { describe, expect, it } from "vitest";
import { LIMITS, transferDueMs } from "../../../gateway/limits.ts";
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

describe("a client that does not read", () => {
  it("keeps no other client from an answer, were it four with many connections each", async () => {
    const { url, counts } = await startLongAnswers();
    const gateway = await startTestGateway(url, { clientSharePercent: 25 });
    const addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];
    for (const address of addresses) for (let i = 0; i < 60; i++) await openUnread(gateway.port, 40, address);
    const client = await RawClient.connect(gateway.port);
    const ask = async () => {
      await client.send(request("GET /v1/sys/health"));
      expect(await client.answer()).toMatchObject({ status: 200, body: "fine" });
    };
    await ask();
    // Until nothing moves any more: what fits into the room is kept, for the rest connections to the service wait.
    await expect.poll(() => stands(counts), { interval: 300 }).toBe(true);
    await ask();
    expect(gateway.figures().answerBytes).toBeLessThan(LIMITS.answerRoomBytes);
    expect(counts.unfinished).toBeLessThan(LIMITS.maxUpstreamConnections);
  });

  it("is asked for nothing more while an answer waits for it", async () => {
    const { url, counts } = await startLongAnswers();
    const gateway = await startTestGateway(url);
    const client = await openUnread(gateway.port, 400);
    await expect.poll(() => stands(counts), { interval: 300 }).toBe(true);
    // One answer more than the system takes for a connection, and the service is free.
    expect(counts).toMatchObject({ asked: expect.any(Number), unfinished: 0 });
    expect(counts.asked).toBeLessThan(100);
    expect(gateway.figures()).toMatchObject({ requests: 0, answerBytes: 400_000 });
    const { asked } = counts;
    client.socket.resume();
    for (let count = 0; count <= asked; count++) expect((await client.answer()).body).toHaveLength(400_000);
  });

  it("takes no room for answers without a body", async () => {
    let asked = 0;
    const { url } = await startService((_incoming, response) => {
      asked++;
      response.writeHead(204, { "X-Padding": "a".repeat(8_000) }).end();
    });
    const gateway = await startTestGateway(url);
    await openUnread(gateway.port, 4_000);
    await expect.poll(() => stands({ asked }), { interval: 300, timeout: 10_000 }).toBe(true);
    // The client has not been given all answers, so one waits for it.
    expect(asked).toBeLessThan(4_000);
    expect(gateway.figures()).toMatchObject({ requests: 0, answerBytes: 0 });
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

let before = -1;

/** True when the service was asked for nothing since the last call. */
function stands({ asked }: { readonly asked: number }): boolean {
  const is = asked > 0 && asked === before;
  before = asked;
  return is;
}

describe("the time that a client has to read", () => {
  it("is half a minute, and a second more for each 16 KiB", () => {
    expect([0, 16, 1024].map((kib) => transferDueMs(kib * 1024, 30_000))).toEqual([30_000, 31_000, 94_000]);
  });
});
