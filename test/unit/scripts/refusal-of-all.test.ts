import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { onPort, refusalOfAll, waitUntilAnswers } from "../../../scripts/local/wait-until-answers.ts";

let asked: string[] = [];
let health = 200;
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  const isHealth = request.url === "/v1/sys/health";
  response.writeHead(isHealth ? health : 503);
  response.end(isHealth ? "{}" : JSON.stringify({ errors: ["Grove is sealed"] }));
});

afterEach(() => {
  server.close();
  asked = [];
});

it.each([
  [200, undefined, ["/v1/sys/health"]],
  [503, "Grove is sealed", ["/v1/sys/health", "/v1/auth/token/lookup-self"]],
])("with health %i a server is asked for no more than needed, as it stores refusals", async (status, error, paths) => {
  health = status;
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  expect(await refusalOfAll(onPort(port))).toBe(error);
  expect(asked).toEqual(paths);
});

it("a server that has ended is not waited for any longer", async () => {
  expect(await waitUntilAnswers(onPort(1), Promise.resolve(), Number.POSITIVE_INFINITY)).toBe(false);
});
