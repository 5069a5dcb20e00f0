import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RawClient, request, startRecorder, startService, startTestGateway } from "./support.ts";

describe("stopping", () => {
  it("lets the request under way finish, and closes the idle connections", async () => {
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const { url } = await startService(async (_, response) => {
      arrived.resolve();
      await release.promise;
      response.end("done");
    });
    const gateway = await startTestGateway(url, { stopMs: 30_000 });
    const busy = await RawClient.connect(gateway.port);
    const idle = await RawClient.connect(gateway.port);
    await busy.send(request("GET /v1/a") + request("GET /v1/b"));
    await arrived.promise;
    const stopped = gateway.stop();
    expect(await idle.end()).toEqual({ how: "ended", rest: "" });
    idle.socket.end();
    release.resolve();
    const answer = await busy.answer();
    expect([answer.body, answer.headers.get("connection")]).toEqual(["done", "close"]);
    expect((await busy.end()).rest).toBe("");
    busy.socket.end();
    await stopped;
    await expect(RawClient.connect(gateway.port)).rejects.toThrow();
  });

  it("does not wait forever", async () => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await startService(() => arrived.resolve());
    const gateway = await startTestGateway(url, { stopMs: 50 });
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/a"));
    await arrived.promise;
    await gateway.stop();
    await client.end();
  });
});

describe("the service", () => {
  it("may listen on a Unix domain socket", async () => {
    const directory = await mkdtemp(join(tmpdir(), "grove-test-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const path = join(directory, "service");
    const server = createServer((incoming, response) => response.end(`${incoming.method} ${incoming.url}`)).listen(
      path,
    );
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
    });
    const client = await RawClient.connect((await startTestGateway({ kind: "socket", path })).port);
    await client.send(request("LIST /v1/a"));
    expect((await client.answer()).body).toBe("GET /v1/a?list=true");
  });

  it("is not asked while its owner says that it can't answer", async () => {
    const { url, seen } = await startRecorder();
    const gateway = await startTestGateway(url);
    gateway.suspend("the Worker cannot be built");
    const early = await RawClient.connect(gateway.port);
    await early.send(request("GET /v1/a"));
    expect(await early.answer()).toMatchObject({ status: 503, body: '{"errors":["the Worker cannot be built"]}\n' });
    gateway.suspend(undefined);
    const late = await RawClient.connect(gateway.port);
    await late.send(request("GET /v1/b"));
    expect((await late.answer()).status).toBe(200);
    expect(seen.map(({ target }) => target)).toEqual(["/v1/b"]);
  });

  it("loses the requests that wait for it when its owner says that it can't answer any more", async () => {
    const arrived = Promise.withResolvers<void>();
    const { url } = await startService((incoming, response) => {
      if (incoming.url === "/v1/b") response.end("b");
      else arrived.resolve();
    });
    const gateway = await startTestGateway(url);
    const client = await RawClient.connect(gateway.port);
    await client.send(request("GET /v1/a"));
    await arrived.promise;
    gateway.suspend("the Worker cannot be built");
    expect(await client.answer()).toMatchObject({ status: 503, body: '{"errors":["the Worker cannot be built"]}\n' });
    gateway.suspend(undefined);
    await client.send(request("GET /v1/b"));
    expect(await client.answer()).toMatchObject({ status: 200, body: "b" });
  });

  it("is reached over few connections by many requests", async () => {
    const connections = { count: 0 };
    const { server, url } = await startService((_, response) => response.end("x"));
    server.on("connection", () => connections.count++);
    const client = await RawClient.connect((await startTestGateway(url)).port);
    for (let index = 0; index < 20; index++) {
      await client.send(request("GET /v1/a"));
      await client.answer();
    }
    expect(connections.count).toBe(1);
  });
});
