import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { call, type RunningServer, startServe } from "./support/server.ts";

const ENV = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};
const FLAGS = ["--allow-private-host=127.0.0.1"];

/** An engine that checks its notifications, as docs/leases.md says. */
interface Engine {
  readonly http: Server;
  readonly target: string;
  /** Lease ids whose revocation was genuine. */
  readonly revoked: string[];
  /** Requests that were not. */
  readonly refused: string[];
  key: Buffer;
}

let data: string;
let server: RunningServer;
let engine: Engine;

beforeAll(async () => {
  engine = await startEngine();
  data = await mkdtemp(join(tmpdir(), "grove-leases-"));
  server = await startServe({ data, env: ENV, flags: FLAGS });
  const answer = await asRoot("POST", "sys/leases/signing-key", { target: engine.target });
  engine.key = Buffer.from((answer.body.data as { key: string }).key, "base64");
});

afterAll(async () => {
  await server.stop();
  engine.http.close();
  await rm(data, { recursive: true, force: true });
});

async function startEngine(): Promise<Engine> {
  const http = createServer((request, response) => {
    readText(request).then((text) => {
      const genuine = isGenuine(engine.key, request.headers["grove-signature"], text);
      const { lease_id } = JSON.parse(text) as { lease_id: string };
      (genuine && request.headers["idempotency-key"] === lease_id ? engine.revoked : engine.refused).push(lease_id);
      response.writeHead(genuine ? 204 : 401).end();
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return { http, target: `http://127.0.0.1:${port}/revoke`, revoked: [], refused: [], key: Buffer.alloc(0) };
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

function isGenuine(key: Buffer, header: string | string[] | undefined, body: string): boolean {
  const [, time = "", mac = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(header)) ?? [];
  if (mac === "" || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const expected = createHmac("sha256", key).update(`${time}.${body}`).digest();
  return timingSafeEqual(expected, Buffer.from(mac, "hex"));
}

function asRoot(method: string, path: string, body: unknown = {}) {
  return call(server, method, `/v1/${path}`, { token: server.rootToken, body });
}

async function holder(endpoint = "create-orphan"): Promise<string> {
  const created = await asRoot("POST", `auth/token/${endpoint}`, { policies: ["default"], ttl: "1h" });
  return (created.body.auth as { client_token: string }).client_token;
}

async function leaseFor(token: string, ttl: string): Promise<string> {
  const registered = await asRoot("POST", "sys/leases/register", {
    token,
    path: "db/creds/app",
    ttl,
    target: engine.target,
    data: { username: "v-app-1" },
  });
  expect(registered.status).toBe(200);
  return registered.body.lease_id as string;
}

const told = (leaseId: string) => vi.waitFor(() => expect(engine.revoked).toContain(leaseId), 60_000);

describe("an engine beside a server", () => {
  it("is notified when a token is revoked, with a signature that it can check", async () => {
    const token = await holder();
    const leaseId = await leaseFor(token, "1h");
    expect((await asRoot("POST", "auth/token/revoke", { token })).status).toBe(204);
    await told(leaseId);
    expect(engine.refused).toEqual([]);
  });

  it("has been notified when a lease or a prefix is revoked", async () => {
    const token = await holder();
    const [one, two] = [await leaseFor(token, "1h"), await leaseFor(token, "1h")];
    expect((await asRoot("POST", "sys/leases/revoke", { lease_id: one })).status).toBe(204);
    expect(engine.revoked).toContain(one);
    expect((await asRoot("POST", "sys/leases/revoke-prefix/db/creds")).status).toBe(204);
    expect(engine.revoked).toContain(two);
    const listed = await call(server, "LIST", "/v1/sys/leases/lookup/db/creds/app", { token: server.rootToken });
    expect(listed.status).toBe(404);
  });

  it("is notified of what ended while the server was down", async () => {
    const leaseId = await leaseFor(await holder(), "3s");
    const ended = Date.now() + 3_000;
    expect(await server.stop()).toBe(0);
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(ended), 10_000);
    expect(engine.revoked).not.toContain(leaseId);
    server = await startServe({ data, env: ENV, flags: FLAGS });
    await told(leaseId);
  });
});

describe("revoke-prefix on a server", () => {
  it("reaches the tokens of a role in many trees before it answers", async () => {
    await asRoot("POST", "auth/token/roles/fleet", { orphan: true, allowed_policies: "default" });
    const tokens: string[] = [];
    for (let i = 0; i < 60; i++) tokens.push(await holder("create/fleet"));
    const other = await holder();
    expect((await asRoot("POST", "sys/leases/revoke-prefix/auth/token/create/fleet")).status).toBe(204);
    const lookUp = async (token: string) => (await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status;
    for (const token of tokens) expect(await lookUp(token)).toBe(403);
    expect(await lookUp(other)).toBe(200);
  });
});
