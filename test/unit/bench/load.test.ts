import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { runStream } from "../../../bench/load.ts";

let server: Server | undefined;

afterEach(() => {
  server?.close().closeAllConnections();
});

/** A server that answers what `answer` says; its URL. */
async function serve(
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<string> {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    answer(request, body, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

describe("a stream of requests", () => {
  it("sends the list again and again, with token and body, and counts answers by status", async () => {
    const seen = new Set<string>();
    const url = await serve(({ method, url: path, headers }, body, response) => {
      seen.add(`${method} ${path} ${headers["x-vault-token"]} ${headers["content-type"]} ${body}`);
      response.writeHead(path === "/b" ? 204 : 200).end();
    });
    const requests = [
      { method: "GET", path: "/a", token: "t" },
      { method: "POST", path: "/b", token: "u", body: { x: 1 } },
    ] as const;
    const result = await runStream(url, { connections: 2, requests }, 0.3);
    expect(seen).toEqual(new Set(["GET /a t undefined ", 'POST /b u application/json {"x":1}']));
    expect(Object.keys(result.statuses)).toEqual(["200", "204"]);
    expect(result.answers).toBe((result.statuses["200"] ?? 0) + (result.statuses["204"] ?? 0));
    expect(result.answers).toBeGreaterThan(2);
    expect(result.lost).toBe(0);
    expect(result.longest).toBeGreaterThanOrEqual(result.p99);
    expect(result.p99).toBeGreaterThanOrEqual(result.p50);
    expect(result.p50).toBeGreaterThan(0);
  });

  it("counts a request that was refused for overload, and leaves its wait out", async () => {
    const url = await serve((_, __, response) => response.writeHead(503).end());
    const requests = [{ method: "GET", path: "/" }] as const;
    const result = await runStream(url, { connections: 1, requests }, 0.3);
    expect(result).toMatchObject({ p50: 0, longest: 0, lost: 0, statuses: { 503: result.answers } });
    expect(result.answers).toBeGreaterThan(0);
  });

  it("sends the token that a connection was given with the requests that follow on it, and with no other", async () => {
    const lives: string[] = [];
    let given = 0;
    const url = await serve(({ url: path, headers }, _, response) => {
      const token = String(headers["x-vault-token"]);
      if (path === "/create") {
        const made = `s.${given++}`;
        expect(token).toBe("maker");
        response.end(JSON.stringify({ auth: { client_token: made } }));
      } else {
        lives.push(`${path} ${token}`);
        response.end("{}");
      }
    });
    const requests = [
      { method: "POST", path: "/create", token: "maker", body: {}, givesToken: true },
      { method: "GET", path: "/look" },
      { method: "POST", path: "/end", body: {} },
    ] as const;
    await runStream(url, { connections: 3, requests }, 0.3);
    const ends = lives.filter((life) => life.startsWith("/end"));
    expect(new Set(lives).size).toBe(lives.length);
    expect(ends.length).toBeGreaterThan(3);
    for (const end of ends) expect(lives).toContain(end.replace("/end", "/look"));
  });

  it("begins each connection at another place of the list", async () => {
    const first = new Map<unknown, string>();
    const url = await serve(({ url: path = "", socket }, _, response) => {
      first.set(socket, first.get(socket) ?? path);
      response.end();
    });
    const requests = ["/0", "/1", "/2", "/3"].map((path) => ({ method: "GET", path, token: "t" }) as const);
    await runStream(url, { connections: 4, requests }, 0.2);
    expect([...first.values()].sort()).toEqual(["/0", "/1", "/2", "/3"]);
  });

  it("counts connections that are lost", async () => {
    let count = 0;
    const url = await serve((_, __, response) => {
      if (count++ === 2) response.destroy();
      else response.end();
    });
    const requests = [{ method: "GET", path: "/", token: "t" }] as const;
    expect((await runStream(url, { connections: 1, requests }, 0.3)).lost).toBe(1);
    expect(count).toBeGreaterThan(5);
  });
});
