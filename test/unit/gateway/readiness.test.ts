import { describe, expect, it } from "vitest";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

describe("GET /ready", () => {
  it.each([
    [true, 200],
    [false, 503],
  ])("answers balancers itself when there is something to ask: %s", async (isReady, status) => {
    const { url, seen } = await startRecorder();
    const audited: string[] = [];
    const gateway = await startTestGateway(url, {
      readiness: async () => isReady,
      audit: (line) => void audited.push(line),
    });
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /ready"));
    expect(await client.answer()).toMatchObject({ status, body: `{"ready":${isReady}}\n` });
    // The connection serves more requests.
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).status).toBe(200);
    expect(seen.map(({ target }) => target)).toEqual(["/v1/a"]);
    expect(audited).toEqual([]);
  });

  it("is answered while the service is not asked", async () => {
    const { url } = await startRecorder();
    const gateway = await startTestGateway(url, { readiness: async () => false });
    gateway.suspend("it starts", 2);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /ready"));
    expect((await client.answer()).body).toBe('{"ready":false}\n');
  });

  it.each(["POST /ready", "GET /ready/", "GET /ready?x", "GET /v1/ready"])("is no other request: %s", async (line) => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url, { readiness: async () => false });
    const client = await RawClient.connect(gateway.port);
    await client.send(request(line));
    expect((await client.answer()).status).toBe(200);
    expect(seen).toHaveLength(1);
  });

  it("is the service's without something to ask", async () => {
    const { url, seen } = await startRecorder();
    const client = await RawClient.connect((await startTestGateway(url)).port);
    await client.send(request("GET /ready"));
    await client.answer();
    expect(seen).toHaveLength(1);
  });
});

describe("a service that is started again after its end", () => {
  it("is tried again after the time that the answer names", async () => {
    const { url } = await startRecorder();
    const gateway = await startTestGateway(url);
    gateway.suspend("it starts", 2);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/a"));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  });

  it("answers 503 instead of 502 for what it lost", async () => {
    const { url } = await startService((incoming) => incoming.socket.destroy());
    for (const [isRestarted, status] of [
      [true, 503],
      [false, 502],
    ] as const) {
      const client = await RawClient.connect((await startTestGateway(url, { isRestarted })).port);
      await client.send(request("POST /v1/a"));
      const answer = await client.answer();
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, isRestarted ? "2" : undefined]);
    }
  });
});
