import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { BegunExchanges } from "../../../src/app/begin-once.ts";
import { EXCHANGE_HEADER, readExchange } from "../../../src/wire/exchange.ts";
import { RawClient, request, startRawService, startRecorder, startTestGateway } from "./support.ts";

/** What the service does with a request: acts and answers, loses it without beginning it, or acts and breaks off. */
type Fate = "answered" | "lost" | "begun" | "half";

interface Arrived {
  readonly target: string;
  readonly body: string;
  readonly exchange: string | undefined;
}

/** A service that remembers what it has begun as the Worker does; `fates` are those of the requests in their order. */
async function startForgetful(fates: readonly Fate[]) {
  const arrived: Arrived[] = [];
  const acted: string[] = [];
  let begun = new BegunExchanges();
  const serve = (socket: Socket, text: string): void => {
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const target = head.split(" ")[1] ?? "";
    const exchange = new RegExp(`^${EXCHANGE_HEADER}: (.*)$`, "m").exec(head)?.[1];
    const fate = fates[arrived.push({ target, body, exchange }) - 1] ?? "answered";
    if (fate === "lost") return void socket.destroy();
    const read = exchange === undefined ? null : readExchange(exchange);
    const answer = (status: string, text: string) =>
      `HTTP/1.1 ${status}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    if (read !== null && !begun.begin(read)) return void socket.write(answer("421 Misdirected Request", ""));
    acted.push(target);
    if (fate === "begun") return void socket.destroy();
    if (fate === "half") return void socket.end("HTTP/1.1 200 OK\r\nContent-Le");
    socket.write(answer("200 OK", `${target} ${body}`));
  };
  const url = await startRawService((socket) => socket.on("data", (bytes) => serve(socket, bytes.toString("latin1"))));
  const restart = (): void => {
    begun = new BegunExchanges();
  };
  return { url, arrived, acted, restart };
}

/** Sends requests to `/1`, `/2` and so on, one after the other, and returns the statuses of their answers. */
async function statuses(url: string, count: number, repeats = true): Promise<number[]> {
  const gateway = await startTestGateway(url, { repeats });
  const answers: number[] = [];
  for (let number = 1; number <= count; number++) {
    const client = await RawClient.connect(gateway.port);
    await client.send(request(`GET /${number}`));
    answers.push((await client.answer()).status);
  }
  return answers;
}

describe("a request whose connection ends without an answer", () => {
  it("is sent once more when the service has not begun it, and the client notices nothing", async () => {
    const service = await startForgetful(["answered", "lost"]);
    expect(await statuses(service.url, 3)).toEqual([200, 200, 200]);
    expect(service.arrived.map(({ target }) => target)).toEqual(["/1", "/2", "/2", "/3"]);
    expect(service.acted).toEqual(["/1", "/2", "/3"]);
    const [, lost, repeated] = service.arrived.map(({ exchange }) => exchange);
    expect(repeated).toBe(`${lost} again`);
  });

  it.each(["begun", "half"] as const)("is not acted on again when the service has begun it (%s)", async (fate) => {
    const service = await startForgetful(["answered", fate]);
    expect(await statuses(service.url, 3)).toEqual([200, 502, 200]);
    expect(service.acted).toEqual(["/1", "/2", "/3"]);
  });

  it("is not sent a third time", async () => {
    const service = await startForgetful(["answered", "lost", "lost"]);
    expect(await statuses(service.url, 2)).toEqual([200, 502]);
    expect(service.arrived.map(({ target }) => target)).toEqual(["/1", "/2", "/2"]);
  });

  it("is not acted on by another process, which can't know what the one before did", async () => {
    const service = await startForgetful(["answered", "lost"]);
    const gateway = await startTestGateway(service.url, { repeats: true });
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /1"));
    await client.answer();
    service.restart();
    await client.send(request("GET /2"));
    expect((await client.answer()).status).toBe(502);
    expect(service.acted).toEqual(["/1"]);
  });

  it("is sent once more with its body", async () => {
    const service = await startForgetful(["answered", "lost"]);
    const client = await RawClient.connect((await startTestGateway(service.url, { repeats: true })).port);
    await client.send(request("GET /1"));
    await client.answer();
    await client.send(`${request("POST /2", "Content-Length: 7")}{"a":1}`);
    expect((await client.answer()).body).toBe('/2 {"a":1}');
    expect(service.arrived.map(({ body }) => body)).toEqual(["", '{"a":1}', '{"a":1}']);
  });

  it("is on record as any other refusal only when the service does not take it", async () => {
    const service = await startForgetful(["answered", "lost", "answered", "begun"]);
    const log: string[] = [];
    const audit: string[] = [];
    const gateway = await startTestGateway(service.url, {
      repeats: true,
      log: (line) => log.push(line),
      audit: (line) => audit.push(line),
    });
    for (const number of [1, 2, 3]) {
      const client = await RawClient.connect(gateway.port);
      await client.send(request(`GET /${number}`));
      await client.answer();
    }
    expect(log).toEqual(["the service does not answer: the connection was closed"]);
    expect(audit.map((line) => [JSON.parse(line).path, JSON.parse(line).status])).toEqual([["/<unknown>", 502]]);
  });

  it("is never sent again to a service that does not remember what it has begun", async () => {
    const service = await startForgetful(["answered", "lost"]);
    expect(await statuses(service.url, 2, false)).toEqual([200, 502]);
    expect(service.arrived.map(({ exchange }) => exchange)).toEqual([undefined, undefined]);
  });
});

describe("the exchange that a request is", () => {
  it("is told by the gateway alone, whatever the client sends and however it spells it", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url, { repeats: true })).port);
    const names = ["X-Grove-Exchange", "x-grove-exchange", "X_Grove_Exchange", "X-Grove_Exchange"];
    await client.send(request("GET /1", ...names.map((name) => `${name}: forged.7 again`)));
    await client.answer();
    expect(JSON.stringify(seen[0]?.headers)).not.toContain("forged");
    expect(seen[0]?.headers["x-grove-exchange"]).toMatch(/^[\w-]{22,}\.1$/);
  });

  it("has names that no other gateway has", async () => {
    const { url, seen } = await startRecorder();
    for (let gateway = 0; gateway < 2; gateway++) {
      const client = await RawClient.connect((await startTestGateway(url, { repeats: true })).port);
      await client.send(request("GET /1"));
      await client.answer();
    }
    const [one, other] = seen.map(({ headers }) => headers["x-grove-exchange"]);
    expect(one).not.toBe(other);
  });
});
