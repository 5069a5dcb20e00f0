import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { afterEach, expect, it } from "vitest";
import { lookUpAtRate } from "../../../bench/open-loop.ts";

let server: Server | undefined;

afterEach(() => {
  server?.close().closeAllConnections();
});

async function serve(answer: (token: string, response: ServerResponse) => void): Promise<string> {
  server = createServer(({ headers }, response) => answer(String(headers["x-vault-token"]), response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

it("look-ups are sent when they are due, and wait from then, also behind some that are not answered", async () => {
  const waiting: ServerResponse[] = [];
  const url = await serve((_, response) => {
    waiting.push(response);
    if (waiting.length === 5) for (const one of waiting) one.end("{}");
  });
  const waits = await lookUpAtRate(url, ["t"], 100, 0.05);
  expect(waits.failed).toBe(0);
  expect(waits.longest).toBeGreaterThanOrEqual(40);
  expect(waits.p50).toBeGreaterThanOrEqual(20);
});

it("tokens are looked up in turn, and what is not answered with 200 is counted apart", async () => {
  const seen: string[] = [];
  const url = await serve((token, response) => {
    seen.push(token);
    response.writeHead(token === "bad" ? 503 : 200).end("{}");
  });
  const waits = await lookUpAtRate(url, ["good", "bad"], 100, 0.06);
  expect(seen.sort()).toEqual(["bad", "bad", "bad", "good", "good", "good"]);
  expect(waits).toMatchObject({ failed: 3 });
});
