import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { succeeds } from "../../scripts/local/wait-until-answers.ts";
import { freePort } from "../support/free-port.ts";
import {
  call,
  descendants,
  killWhole,
  type RunningServer,
  runScript,
  startServe,
  stillRunning,
} from "./support/server.ts";

const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};

let data: string;
let server: RunningServer;
/** Where the server of the first tests can be reached past its gateway. */
let direct: { readonly address: string };

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "grove-serve-"));
  const port = await freePort();
  direct = { address: `http://127.0.0.1:${port}` };
  const env = { ...SECRETS, TOMBSTONE_DAYS: "a month" };
  server = await startServe({ data, env, flags: ["--direct", String(port)] });
});

afterAll(async () => {
  await server.stop();
  await rm(data, { recursive: true, force: true });
});

/** Creates a token of its own tree. */
async function createToken(fields: Record<string, unknown>): Promise<{ client_token: string; accessor: string }> {
  const created = await call(server, "POST", "/v1/auth/token/create-orphan", { token: server.rootToken, body: fields });
  expect(created.status).toBe(200);
  return created.body.auth as { client_token: string; accessor: string };
}

async function lookUp(token: string): Promise<number> {
  return (await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status;
}

async function accessors(): Promise<string[]> {
  const { body } = await call(server, "LIST", "/v1/auth/token/accessors", { token: server.rootToken });
  return (body.data as { keys: string[] }).keys;
}

describe("npm run serve", () => {
  it("serves the API, LIST included", async () => {
    expect(await lookUp(server.rootToken)).toBe(200);
    const { accessor } = await createToken({ ttl: "1h" });
    expect(await accessors()).toContain(accessor);
  });

  it("has a socket for its cron, which begins a tidy run and does nothing else", async () => {
    const status = async () =>
      (await call(server, "GET", "/v1/auth/token/tidy-status", { token: server.rootToken })).body.data as {
        state: string;
        last: { time_started: string } | null;
      };
    expect((await status()).state).toBe("never run");
    const cron = { kind: "socket", path: join(data, "cron.sock") } as const;
    // Whatever is asked for there, it is no way to the API.
    expect(await succeeds(cron, "/v1/sys/health", 30_000)).toBe(true);
    await expect.poll(async () => (await status()).last?.time_started).toBeDefined();
    expect((await stat(data)).mode & 0o077).toBe(0);
  });

  it("serves the console, compressed", async () => {
    const text = await fetch(`${server.address}/`);
    expect([text.status, await text.text()]).toEqual([200, expect.stringContaining("GET /v1/sys/health")]);
    const page = await fetch(`${server.address}/`, { headers: { Accept: "text/html" } });
    expect(new URL(page.url).pathname).toBe("/ui/");
    expect(page.headers.get("Content-Encoding")).toBe("gzip");
    expect(await page.text()).toContain('<div id="console">');
  });

  it("writes audit lines with the client's address, and no secret, to standard output", async () => {
    const { client_token: token } = await createToken({ ttl: "1h" });
    await lookUp(token);
    expect(server.output()).toContain('"client_address":"127.0.0.1"');
    for (const secret of [token, server.rootToken, SECRETS.GROVE_SEAL_KEY])
      expect(server.output()).not.toContain(secret);
  });

  it("can be reached past the gateway, where no client can say what its address is", async () => {
    const token = (await createToken({ ttl: "1h" })).client_token;
    const { rootToken } = server;
    const role = { orphan: true, token_bound_cidrs: ["127.0.0.0/8"] };
    await call(server, "POST", "/v1/auth/token/roles/bound", { token: rootToken, body: role });
    const body = { policies: ["default"] };
    const created = await call(server, "POST", "/v1/auth/token/create/bound", { token: rootToken, body });
    const bound = (created.body.auth as { client_token: string }).client_token;
    const pastGateway = async (sent: string, headers: Record<string, string> = {}) => {
      const path = `${direct.address}/v1/auth/token/lookup-self`;
      return (await fetch(path, { headers: { "X-Vault-Token": sent, ...headers } })).status;
    };
    expect([await lookUp(token), await lookUp(bound)]).toEqual([200, 200]);
    expect([await pastGateway(token), await pastGateway(bound)]).toEqual([200, 403]);
    for (const name of ["X-Grove-Client-Address", "x-grove-client-address", "X-Forwarded-For", "CF-Connecting-IP"]) {
      expect(await pastGateway(bound, { [name]: "127.0.0.1" })).toBe(403);
    }
  });

  it("logs the request of a client that disconnected at once", async () => {
    const path = "/v1/sys/policies/acl/left-behind";
    const body = '{"policy":"path \\"a\\" { capabilities = [\\"read\\"] }"}';
    const { hostname, port } = new URL(server.address);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(
      `PUT ${path} HTTP/1.1\r\nHost: grove\r\nX-Vault-Token: ${server.rootToken}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    // As soon as the act is announced, and before its answer.
    await expect.poll(() => server.output(), { interval: 1 }).toMatch(/"type":"request".*left-behind/);
    socket.resetAndDestroy();
    await expect.poll(() => server.output()).toMatch(/"type":"response".*left-behind.*"status":204/);
    expect((await call(server, "GET", path, { token: server.rootToken })).status).toBe(200);
  });

  it("answers every request, each executed once, when workerd was suspended for longer than it keeps connections", async () => {
    const lanes = 24;
    const policies = ["default"];
    const made = await Promise.all(
      Array.from({ length: lanes }, () => createToken({ ttl: "1h", num_uses: 1000, policies })),
    );
    const [workerd = 0] = await descendants(server.child.pid ?? 0);
    const ask = async ({ client_token: token }: { client_token: string }, rounds: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let round = 0; round < rounds; round++) statuses.push(await lookUp(token));
      return statuses;
    };
    // So that every connection of the gateway has answered something.
    await Promise.all(made.map((token) => ask(token, 2)));
    process.kill(workerd, "SIGSTOP");
    const asked = Promise.all(made.map((token) => ask(token, 3)));
    // workerd closes a connection after 5 seconds.
    await new Promise((resolve) => setTimeout(resolve, 5_600));
    process.kill(workerd, "SIGCONT");
    expect((await asked).flat()).toEqual(Array(lanes * 3).fill(200));
    for (const { accessor } of made.slice(0, 4)) {
      const { body } = await call(server, "POST", "/v1/auth/token/lookup-accessor", {
        token: server.rootToken,
        body: { accessor },
      });
      expect(body.data).toMatchObject({ num_uses: 1000 - 5 });
    }
    expect(server.output()).not.toContain("the service does not answer");
  });

  it("keeps data and configuration for this user only, and secrets out of both and of the process list", async () => {
    for (const entry of await readdir(data)) expect((await stat(join(data, entry))).mode & 0o077).toBe(0);
    const config = await readFile(join(data, "worker/config.capnp"), "utf8");
    const commands = await Promise.all(
      (await descendants(server.child.pid ?? 0)).map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
    );
    for (const text of [config, ...commands]) {
      for (const secret of Object.values(SECRETS)) expect(text).not.toContain(secret);
    }
  });

  it("says at the start which setting it does not understand, and nothing of those that it does", () => {
    const line = "serve: TOMBSTONE_DAYS is no number from 0 on, at most 3650: the default counts, 30";
    expect(server.output().split("\n")).toContain(line);
    expect(server.output().match(/the default counts/g)).toHaveLength(1);
  });

  it("says at the start that there were no data", () => {
    expect(server.output().split("\n")).toContain(`serve: ${data} has no data: this is a new installation`);
  });

  it("refuses to start twice on the same data", async () => {
    const second = runScript("serve", ["--listen=127.0.0.1:0", "--data", data], SECRETS);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`in use by another server (process ${server.child.pid})`);
    expect(await lookUp(server.rootToken)).toBe(200);
  });

  it("says that a port is taken, and what to do", async () => {
    const second = runScript("serve", ["--listen", new URL(server.address).host, "--data", `${data}-other`], SECRETS);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain("already in use");
    expect(second.output()).toContain("--listen");
  });

  it.each([
    [["--listen", "8200"], "--listen"],
    [["--trust-proxy", "everybody"], "--trust-proxy"],
    [["--date", "/tmp"], "--date"],
  ])("says what is wrong with %j", async (flags, named) => {
    const program = runScript("serve", flags);
    expect(await program.exited).toBe(2);
    expect(program.output()).toContain(named);
  });
});

describe("npm run serve, started again", () => {
  it("leaves no process behind, and keeps tokens", async () => {
    const { client_token: token } = await createToken({ ttl: "1h" });
    const started = await descendants(server.child.pid ?? 0);
    expect(await server.stop()).toBe(0);
    await expect.poll(() => stillRunning(started)).toEqual([]);
    server = await startServe({ data, env: SECRETS });
    expect(await lookUp(token)).toBe(200);
  });

  it("keeps what it has answered when everything is killed", async () => {
    const { client_token: kept } = await createToken({ ttl: "1h" });
    const { client_token: revoked } = await createToken({ ttl: "1h" });
    await call(server, "POST", "/v1/auth/token/revoke-self", { token: revoked });
    await killWhole(server);
    await server.exited;
    server = await startServe({ data, env: SECRETS });
    expect([await lookUp(kept), await lookUp(revoked)]).toEqual([200, 403]);
  });

  it("leaves no process on the data when only the parent is killed", async () => {
    const { client_token: token } = await createToken({ ttl: "1h" });
    const started = await descendants(server.child.pid ?? 0);
    server.child.kill("SIGKILL");
    await expect.poll(() => stillRunning(started)).toEqual([]);
    server = await startServe({ data, env: SECRETS });
    expect(await lookUp(token)).toBe(200);
  });

  it("sweeps a token that expired while it was stopped", async () => {
    const { accessor } = await createToken({ ttl: "1s" });
    await server.stop();
    server = await startServe({ data, env: SECRETS });
    await expect.poll(accessors, { interval: 500 }).not.toContain(accessor);
  });

  it("stops with an error when the Worker dies", async () => {
    const dying = await startServe();
    const [workerd] = await descendants(dying.child.pid ?? 0);
    process.kill(workerd ?? 0, "SIGKILL");
    expect(await dying.exited).toBe(1);
    expect(dying.output()).toContain("the Worker ended by itself");
    await dying.stop();
  });
});

describe("a data directory that cannot be used", () => {
  it.each([
    ["below a file", "/etc/passwd/grove", "not a directory"],
    ["below a directory that is missing", join(tmpdir(), "grove-mistyped/data"), "Is --data mistyped?"],
    ["where nobody may write", "/proc/grove", "cannot be used for data"],
    ["with too long a path", join(tmpdir(), "x".repeat(120)), "too long"],
  ])("is named: %s", async (_, directory, text) => {
    const program = runScript("serve", ["--listen=127.0.0.1:0", "--data", directory], SECRETS);
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(text);
    await rm(join(tmpdir(), "x".repeat(120)), { recursive: true, force: true });
  });
});

describe("a port that another program holds", () => {
  it("is left alone", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const program = runScript("serve", ["--listen", `127.0.0.1:${port}`, "--data", `${data}-other`], SECRETS);
    expect(await program.exited).toBe(1);
    expect(other.listening).toBe(true);
    other.close();
  });
});
