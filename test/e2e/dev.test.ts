import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, descendants, type RunningServer, runScript, startDev, stillRunning } from "./support/server.ts";

let data: string;
let server: RunningServer;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "grove-dev-"));
  server = await startDev({ data, flags: ["--root-token", "dev-chosen-by-test"], env: { POLICY_CACHE_SECONDS: "0" } });
});

afterAll(async () => {
  await server.stop();
  await rm(data, { recursive: true, force: true });
});

describe("npm run dev", () => {
  it("serves the API with the root token that it shows", async () => {
    expect(server.rootToken).toBe("dev-chosen-by-test");
    expect(server.output()).toContain(`export VAULT_TOKEN=${server.rootToken}`);
    const self = await call(server, "GET", "/v1/auth/token/lookup-self", { token: server.rootToken });
    expect(self).toMatchObject({ status: 200, body: { data: { policies: ["root"] } } });
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token: "wrong" })).status).toBe(403);
  });

  it("leads a browser to the console, and says to everything else what this is", async () => {
    const page = await fetch(`${server.address}/`, { headers: { Accept: "text/html,application/xhtml+xml" } });
    expect([page.status, page.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.url).toBe(`${server.address}/ui/`);
    expect(await page.text()).toContain("<title>Grove</title>");
    const text = await fetch(`${server.address}/`);
    expect([text.status, await text.text()]).toEqual([200, expect.stringContaining("This is Grove")]);
  });

  it("understands LIST", async () => {
    const listed = await call(server, "LIST", "/v1/auth/token/accessors", { token: server.rootToken });
    expect(listed).toMatchObject({ status: 200, body: { data: { keys: expect.any(Array) } } });
  });

  it("keeps the audit log out of the terminal, in a file, with the client's own address", async () => {
    await call(server, "GET", "/v1/auth/token/lookup-self", { token: server.rootToken });
    // The runtime prints the line after the answer.
    const readLog = () => readFile(join(data, "audit.log"), "utf8").catch(() => "");
    await expect.poll(readLog, { timeout: 10_000 }).toMatch(/lookup-self.*\n$/);
    const log = await readLog();
    const lines = log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({ path: "auth/token/lookup-self", client_address: "127.0.0.1" }),
    );
    expect(log).not.toContain(server.rootToken);
    expect(server.output()).not.toContain('"request_id"');
  });

  it("keeps its secrets in files of this user only, and out of the process list", async () => {
    for (const name of ["seal-key", "root-token", "environment", "audit.log"]) {
      expect((await stat(join(data, name))).mode & 0o777).toBe(0o600);
    }
    const sealKey = (await readFile(join(data, "seal-key"), "utf8")).trim();
    expect(sealKey).toMatch(/^1:[A-Za-z0-9+/]{43}=$/);
    for (const pid of await descendants(server.child.pid ?? 0)) {
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      expect(command).not.toContain(server.rootToken);
      expect(command).not.toContain(sealKey);
    }
  });

  it("refuses to start twice on the same data", async () => {
    const second = runScript("dev", ["--port=0", "--data", data]);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`in use by another server (process ${server.child.pid})`);
    expect(second.output()).toContain("--data");
  });

  it("says that a port is taken, and what to do", async () => {
    const second = runScript("dev", ["--port", new URL(server.address).port, "--data", `${data}-other`]);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain("already in use");
    expect(second.output()).toContain("--port");
  });

  it.each([
    [["--port", "x"], "--port"],
    [["--root-token", "s.routes"], "--root-token"],
    [["--root-token", "has space"], "--root-token"],
    [["--fersh"], "--fersh"],
  ])("says what is wrong with %j", async (flags, named) => {
    const program = runScript("dev", flags);
    expect(await program.exited).toBe(2);
    expect(program.output()).toContain(named);
  });

  it("explains itself", async () => {
    const program = runScript("dev", ["--help"]);
    expect(await program.exited).toBe(0);
    expect(program.output()).toContain("--fresh");
  });
});

describe("npm run dev, stopped and started again", () => {
  let token: string;

  it("leaves no process after Ctrl-C, and keeps the data", async () => {
    const created = await call(server, "POST", "/v1/auth/token/create", {
      token: server.rootToken,
      body: { ttl: "1h" },
    });
    token = (created.body.auth as { client_token: string }).client_token;
    const started = await descendants(server.child.pid ?? 0);
    expect(started.length).toBeGreaterThan(1);
    server.child.kill("SIGINT");
    expect(await server.exited).toBe(0);
    await expect.poll(() => stillRunning(started)).toEqual([]);

    server = await startDev({ data });
    expect(server.rootToken).toBe("dev-chosen-by-test");
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status).toBe(200);
  });

  it("leaves no process when it is killed", async () => {
    const started = await descendants(server.child.pid ?? 0);
    server.child.kill("SIGKILL");
    await server.exited;
    await expect.poll(() => stillRunning(started)).toEqual([]);
  });

  it("refuses another root token for the data, and forgets them with --fresh", async () => {
    const other = runScript("dev", ["--port=0", "--data", data, "--root-token", "dev-another"]);
    expect(await other.exited).toBe(1);
    expect(other.output()).toContain("--fresh");

    server = await startDev({ data, flags: ["--fresh"] });
    expect(server.rootToken).toMatch(/^dev-[A-Za-z0-9]{24}$/);
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status).toBe(403);
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token: server.rootToken })).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  it("makes no new installation where the tokens of another one are, and says so", async () => {
    await rm(join(data, "state/v3/do/grove-System"), { recursive: true });
    server = await startDev({ data });
    const answer = await call(server, "GET", "/v1/auth/token/lookup-self", { token: server.rootToken });
    expect(answer).toMatchObject({ status: 503, body: { errors: [expect.stringContaining("do not initialize it")] } });
    expect(server.output()).toMatch(/^dev: .*do not initialize it.*--fresh$/m);
    expect(await server.stop()).toBe(0);
    server = await startDev({ data, flags: ["--fresh"] });
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token: server.rootToken })).status).toBe(200);
  });

  it("stops with an error when the server under it dies", async () => {
    const started = await descendants(server.child.pid ?? 0);
    const [wrangler] = started;
    process.kill(wrangler ?? 0, "SIGKILL");
    expect(await server.exited).toBe(1);
    expect(server.output()).toContain("ended by itself");
    await expect.poll(() => stillRunning(started)).toEqual([]);
  });
});
