import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Place, parsePlace } from "../../../scripts/bench/load/place.ts";
import { KEPT_TOKEN, type LoadRequest, renderRequest } from "../../../scripts/bench/load/request.ts";
import { runLoad } from "../../../scripts/bench/load/run.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly body: string;
}

type Answer = (seen: Seen, response: ServerResponse) => void;

const closers: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that notes every request, read by Node's own strict parser. */
async function start(answer: Answer, socket?: string): Promise<{ place: Place; seen: Seen[]; server: Server }> {
  const seen: Seen[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      seen.push({ method, url, token: String(headers["x-vault-token"] ?? ""), body });
      answer(seen.at(-1) as Seen, response);
    });
  });
  if (socket === undefined) server.listen(0, "127.0.0.1");
  else server.listen(socket);
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const place: Place =
    socket === undefined
      ? { kind: "tcp", host: "127.0.0.1", port: (server.address() as AddressInfo).port, tls: false }
      : { kind: "socket", path: socket };
  return { place, seen, server };
}

const ok: Answer = (_, response) => response.end("{}");
const get: LoadRequest = { label: "get", method: "GET", path: "/v1/a", token: "t" };

describe("a load", () => {
  it("sends the requests in turn on every connection and counts the answers", async () => {
    const { place, seen } = await start(ok);
    const post: LoadRequest = { label: "post", method: "POST", path: "/v1/b", token: "t", body: { text: "ü" } };
    const result = await runLoad({ place, seconds: 0.1, streams: [{ connections: 3, requests: [get, post] }] });
    expect(result.lost).toBe(0);
    const { get: gets, post: posts } = result.labels;
    expect((gets?.count ?? 0) + (posts?.count ?? 0)).toBe(seen.length);
    expect(gets?.statuses).toEqual({ 200: gets?.count });
    expect(Math.abs((gets?.count ?? 0) - (posts?.count ?? 0))).toBeLessThanOrEqual(3);
    expect(seen).toContainEqual({ method: "POST", url: "/v1/b", token: "t", body: '{"text":"ü"}' });
    expect(gets?.latencyMs.p50).toBeGreaterThan(0);
  });

  it("speaks to Unix domain sockets alike", async () => {
    const directory = await mkdtemp(join(tmpdir(), "grove-load-"));
    closers.push(() => rm(directory, { recursive: true, force: true }));
    const { place, seen } = await start(ok, join(directory, "s"));
    const result = await runLoad({ place, seconds: 0.05, streams: [{ connections: 1, requests: [get] }] });
    expect(result.labels.get?.count).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(0);
  });

  it("uses the token that an answer gave on the same connection", async () => {
    let given = 0;
    const { place, seen } = await start((request, response) => {
      response.end(JSON.stringify(request.url === "/make" ? { auth: { client_token: `token-${++given}` } } : {}));
    });
    const make: LoadRequest = { label: "make", method: "POST", path: "/make", keepsToken: true };
    const use: LoadRequest = { label: "use", method: "POST", path: "/use", token: KEPT_TOKEN, body: [KEPT_TOKEN] };
    await runLoad({ place, seconds: 0.05, streams: [{ connections: 1, requests: [make, use] }] });
    const uses = seen.filter(({ url }) => url === "/use");
    expect(uses.slice(0, 2).map(({ token, body }) => [token, body])).toEqual([
      ["token-1", '["token-1"]'],
      ["token-2", '["token-2"]'],
    ]);
  });

  it("begins every connection elsewhere when asked to spread", async () => {
    // Answered when all four have come: the first connection must not go on before the last has begun.
    const first: ServerResponse[] = [];
    const { place, seen } = await start((_, response) => {
      if (first.push(response) === 4) for (const one of first) one.end("{}");
      if (first.length > 4) response.end("{}");
    });
    const requests = ["/0", "/1", "/2", "/3"].map((path) => ({ ...get, path }));
    await runLoad({ place, seconds: 0.05, streams: [{ connections: 4, requests, spread: true }] });
    expect(
      seen
        .slice(0, 4)
        .map(({ url }) => url)
        .toSorted(),
    ).toEqual(["/0", "/1", "/2", "/3"]);
  });

  it("goes on over a new connection when the server closes one after an answer", async () => {
    const { place, seen } = await start((_, response) => response.setHeader("Connection", "close").end("{}"));
    const result = await runLoad({ place, seconds: 0.1, streams: [{ connections: 1, requests: [get] }] });
    expect(seen.length).toBeGreaterThan(1);
    expect(result.lost).toBe(0);
  });

  it("counts lost connections, and 503 that do not say when to come again", async () => {
    let number = 0;
    const { place } = await start((_, response) => {
      number++;
      if (number % 3 === 0) return response.socket?.destroy();
      if (number % 3 === 1) response.setHeader("Retry-After", "1");
      return response.writeHead(503).end();
    });
    const result = await runLoad({ place, seconds: 0.2, streams: [{ connections: 1, requests: [get] }] });
    expect(result.lost).toBeGreaterThan(0);
    expect(result.labels.get?.withoutRetryAfter).toBeGreaterThan(0);
    expect(result.labels.get?.withoutRetryAfter).toBeLessThan(result.labels.get?.statuses["503"] ?? 0);
  });

  it("ends when nobody listens", async () => {
    const probe = createNetServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    probe.close();
    const place: Place = { kind: "tcp", host: "127.0.0.1", port, tls: false };
    const result = await runLoad({ place, seconds: 0.1, streams: [{ connections: 2, requests: [get] }] });
    expect(result.lost).toBeGreaterThanOrEqual(2);
  });
});

describe("requests", () => {
  it("say how long their body is, in bytes", () => {
    const text = renderRequest({ label: "", method: "PUT", path: "/x", body: { a: "ü" } }, "host", "").toString();
    expect(text).toBe(
      'PUT /x HTTP/1.1\r\nHost: host\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a":"ü"}',
    );
    expect(renderRequest({ label: "", method: "DELETE", path: "/x" }, "h", "").toString()).toContain(
      "Content-Length: 0",
    );
    expect(renderRequest(get, "h", "").toString()).not.toContain("Content-Length");
  });
});

describe("addresses", () => {
  it.each([
    ["http://127.0.0.1:8200", { kind: "tcp", host: "127.0.0.1", port: 8200, tls: false }],
    ["https://vault.example", { kind: "tcp", host: "vault.example", port: 443, tls: true }],
    ["http://[::1]:8200", { kind: "tcp", host: "::1", port: 8200, tls: false }],
    ["unix:/run/grove.sock", { kind: "socket", path: "/run/grove.sock" }],
  ])("%s is read", (text, expected) => {
    expect(parsePlace(text)).toEqual({ ok: true, value: expected });
  });

  it.each(["127.0.0.1:8200", "ftp://x", "http://x/v1", "http://user:secret@x"])("refuses %s", (text) => {
    expect(parsePlace(text).ok).toBe(false);
  });
});
