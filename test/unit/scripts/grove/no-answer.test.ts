import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { runGrove } from "../../../../scripts/grove/run.ts";

const TLS = join(import.meta.dirname, "../../gateway/tls");

const plain = createServer((_, response) => void response.end("{}"));
const secure = createTlsServer(
  { cert: readFileSync(join(TLS, "certificate.pem")), key: readFileSync(join(TLS, "key.pem")) },
  (_, response) => void response.end("{}"),
);
/** What a proxy says at a port of HTTPS. */
const proxy = createServer((_, response) => {
  response.writeHead(400).end("<h1>400 The plain HTTP request was sent to HTTPS port</h1>");
});
const silent = createTcpServer((socket) => void socket.destroy());
const servers: readonly Server[] = [plain, secure, proxy, silent];

const hostOf = (server: { address(): unknown }) => `127.0.0.1:${(server.address() as AddressInfo).port}`;
const whyNot = async (address: string) => {
  const answered = await new GroveClient(address, "s.own").call("GET", "sys/health");
  return answered.ok ? "answered" : answered.error.message;
};

beforeAll(async () => {
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  for (const server of servers) server.close();
});

describe("no answer", () => {
  it("of a plain port that was asked by https", async () => {
    const host = hostOf(plain);
    expect(await whyNot(`https://${host}`)).toBe(
      `no answer from https://${host}: it does not speak TLS there: try http://${host}`,
    );
  });

  it("of a port of TLS that was asked by http, which says so or closes the connection", async () => {
    for (const host of [hostOf(secure), hostOf(proxy)])
      expect(await whyNot(`http://${host}`)).toBe(
        `no answer from http://${host}: it speaks TLS there: try https://${host}`,
      );
  });

  it("of a server whose certificate nobody vouches for", async () => {
    expect(await whyNot(`https://${hostOf(secure)}`)).toContain("NODE_EXTRA_CA_CERTS=FILE names its authority");
  });

  it("of a server that closes the connection names no other address", async () => {
    const why = await whyNot(`http://${hostOf(silent)}`);
    expect(why).toMatch(/^no answer from /);
    expect(why).not.toContain("try ");
  });

  it("of a port that nobody listens at", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const host = hostOf(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect(await whyNot(`http://${host}`)).toBe(`no answer from http://${host}: nothing listens there`);
  });

  it.each(["https://on-call:secret@grove.example", "http://127.0.0.1:99999", "http://", "grove.example"])(
    "is asked for from %s, which no address is, or has a secret",
    async (address) => {
      const said: string[] = [];
      const unused = async (): Promise<never> => {
        throw new Error("nobody asks");
      };
      const terminal = {
        ...{ colours: false, interactive: false, columns: null, out: () => {}, progress: () => {} },
        ...{ ask: unused, secret: unused, lines: async function* () {}, say: (line: string) => void said.push(line) },
      };
      expect(await runGrove({ kind: "doctor", json: false }, { VAULT_ADDR: address }, terminal)).toBe(2);
      expect(said).toEqual([expect.stringMatching(/^grove: VAULT_ADDR /)]);
      expect(said[0]).not.toContain("secret");
    },
  );
});
