import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { type RunningServer, startDev, startServe } from "./support/server.ts";

let serve: RunningServer;
let dev: RunningServer;
let direct: number;

beforeAll(async () => {
  direct = await freePort();
  [serve, dev] = await Promise.all([startServe({ flags: ["--direct", String(direct)] }), startDev()]);
});

afterAll(async () => {
  await Promise.all([serve.stop(), dev.stop()]);
});

interface Reached {
  readonly port: number;
  readonly token: string;
}

/** Sends a request whose target no client library has rewritten. */
async function send({ port, token }: Reached, method: string, target: string, body?: object) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const sent = body === undefined ? "" : JSON.stringify(body);
  const length = Buffer.byteLength(sent);
  const head = [
    `${method} ${target} HTTP/1.1`,
    "Host: grove.test",
    `X-Vault-Token: ${token}`,
    `Content-Length: ${length}`,
  ];
  socket.end(`${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${sent}`);
  const [answer = "", ...rest] = (await text(socket)).split("\r\n\r\n");
  return { status: Number(answer.split(" ", 2)[1]), body: rest.join("\r\n\r\n") };
}

const portOf = ({ address }: RunningServer) => Number(new URL(address).port);

describe.each<[string, () => Reached]>([
  ["npm run dev", () => ({ port: portOf(dev), token: dev.rootToken })],
  ["the gateway of npm run serve", () => ({ port: portOf(serve), token: serve.rootToken })],
  ["npm run serve --direct", () => ({ port: direct, token: serve.rootToken })],
])("a path as it was sent, to %s", (_, reached) => {
  it.each([
    ["a backslash", "a\\b", "a/b"],
    ["a backslash at the end", "a\\", "a"],
    ["a pipe", "a|b", "ab"],
    ["a circumflex and quotes", 'a^"b', "a^b"],
    ["braces and brackets", "a{b}[c]", "abc"],
    ["dots in a name", "a..b\\..c", "a..b/c"],
    ["a colon and a semicolon", "a:b;c@d", "a"],
  ])("is a name of its own: %s", async (_, name, other) => {
    const cubbyhole = (of: string) => `/v1/cubbyhole/names/${of}`;
    expect((await send(reached(), "POST", cubbyhole(name), { of: name })).status).toBe(204);
    for (const spelled of [name, encodeURIComponent(name)]) {
      const read = await send(reached(), "GET", cubbyhole(spelled));
      expect([read.status, JSON.parse(read.body).data]).toEqual([200, { of: name }]);
    }
    expect((await send(reached(), "GET", cubbyhole(other))).status).toBe(404);
    await send(reached(), "DELETE", cubbyhole(name));
  });

  it("is a name of its own, or refused before it is read, with letters that are not escaped", async () => {
    const answer = await send(reached(), "POST", "/v1/cubbyhole/names/a\u00e9\u4e2d", { a: "b" });
    expect([204, 400]).toContain(answer.status);
    const read = await send(reached(), "GET", `/v1/cubbyhole/names/${encodeURIComponent("a\u00e9\u4e2d")}`);
    expect(read.status).toBe(answer.status === 204 ? 200 : 404);
  });

  it("finds an entity of a domain by its name alone", async () => {
    const named = "/v1/identity/entity/name/CORP\\bob";
    expect((await send(reached(), "POST", named, { metadata: { a: "b" } })).status).toBe(200);
    const read = await send(reached(), "GET", named);
    expect(JSON.parse(read.body).data).toMatchObject({ name: "CORP\\bob" });
    expect((await send(reached(), "GET", "/v1/identity/entity/name/CORP/bob")).status).toBe(404);
    expect((await send(reached(), "DELETE", named)).status).toBe(204);
  });

  it.each([
    "/v1/cubbyhole/../sys/health",
    "/v1/cubbyhole/./x",
    "/v1/cubbyhole/%2e%2e/x",
    "/v1/cubbyhole/.%2E/x",
    "/v1/cubbyhole/x/..",
    "/v1/../v1/sys/health",
  ])("is refused with a relative part: %s", async (target) => {
    const answer = await send(reached(), "GET", target);
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining("relative paths not supported")]);
  });

  it.each(["a\tb", "a b", "a\u0001b", "a\u007fb", "a%09b", "a%0ab", "a%00b", "a%ffb", "a%zz"])(
    "is refused with what has no place in it: %j",
    async (name) => expect((await send(reached(), "GET", `/v1/cubbyhole/${name}`)).status).toBe(400),
  );
});
