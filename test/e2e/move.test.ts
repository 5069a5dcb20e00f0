import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { copyProject } from "./support/copied-project.ts";
import { call, freePort, killWhole, PROJECT, type RunningServer, startServe } from "./support/server.ts";

const SECRETS = { GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`, GROVE_DEV_ROOT_TOKEN: "" };
const run = promisify(execFile);

let above: string;
let copy: string;

beforeAll(() => {
  above = mkdtempSync(join(tmpdir(), "grove-move-"));
  copy = copyProject();
});

afterAll(() => {
  rmSync(above, { recursive: true, force: true });
  rmSync(copy, { recursive: true, force: true });
});

interface Made {
  readonly name: string;
  readonly unchanged: number;
  readonly continued: number;
}

/** A server as this test calls it. */
type Server = Pick<RunningServer, "address">;

const backupWords = (address: string, to: string) => [
  join(PROJECT, "scripts/backup.ts"),
  ...["--address", address, "--to", to, "--json"],
];

async function backup({ address }: Server, token: string, to: string): Promise<Made> {
  const env = { ...process.env, VAULT_TOKEN: token };
  const { stdout } = await run(process.execPath, backupWords(address, to), { cwd: PROJECT, env });
  return JSON.parse(stdout) as Made;
}

async function restore({ address }: Server, from: string): Promise<string> {
  const env = { ...process.env, VAULT_ADDR: address };
  const words = [join(PROJECT, "scripts/grove.ts"), "restore", "--from", from];
  return (await run(process.execPath, words, { cwd: PROJECT, env })).stdout;
}

/** Accessors of what a restore of the newest backup would make valid again, as the server of the backup knows it. */
async function preview({ address }: Server, token: string, from: string): Promise<string[]> {
  const env = { ...process.env, VAULT_ADDR: address, VAULT_TOKEN: token };
  const words = [join(PROJECT, "scripts/grove.ts"), "restore", "--from", from, "--preview", "--json"];
  const { stdout } = await run(process.execPath, words, { cwd: PROJECT, env });
  const { tokens } = JSON.parse(stdout) as { readonly tokens: readonly { readonly token: { accessor: string } }[] };
  return tokens.map((one) => one.token.accessor);
}

/** Begins a backup through a proxy that loses every call after the first part, and kills it there. */
async function killedBackup({ address }: Server, token: string, to: string): Promise<void> {
  let parts = 0;
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === "/v1/sys/backup/part" && ++parts > 1) return proxy.emit("second");
    const method = request.method ?? "GET";
    const headers = { "X-Vault-Token": token, "Content-Type": "application/json" };
    const body = method === "POST" ? Buffer.concat(chunks) : undefined;
    const answer = await fetch(`${address}${request.url}`, { method, headers, ...(body && { body }) });
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const place = proxy.address();
  const port = typeof place === "object" ? place?.port : 0;
  const env = { ...process.env, VAULT_TOKEN: token };
  const child = spawn(process.execPath, backupWords(`http://127.0.0.1:${port}`, to), { cwd: PROJECT, env });
  await once(proxy, "second");
  child.kill("SIGKILL");
  await once(child, "close");
  proxy.closeAllConnections();
  proxy.close();
}

/** The Worker as on the network: objects can be in other isolates, and no id of another machine can be made. */
async function startNetwork(): Promise<Server> {
  writeFileSync(join(copy, ".dev.vars"), `GROVE_SEAL_KEY="${SECRETS.GROVE_SEAL_KEY}"\n`, { mode: 0o600 });
  const port = await freePort();
  const words = [join(PROJECT, "node_modules/wrangler/bin/wrangler.js"), "dev", "--port", String(port)];
  const child = spawn(process.execPath, [...words, "--inspector-port", String(await freePort())], {
    cwd: copy,
    env: {
      ...process.env,
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_REGISTRY_PATH: join(copy, "registry"),
    },
  });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (written += text));
  onTestFinished(() => killWhole({ child }));
  await expect.poll(() => written, { interval: 200 }).toContain("Ready on");
  return { address: `http://127.0.0.1:${port}` };
}

const data = (answer: { readonly body: Record<string, unknown> }) => answer.body.data as Record<string, unknown>;

async function newToken(server: Server, token: string, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await call(server, "POST", "/v1/auth/token/create", { token, body });
  return (answer.body.auth as { readonly client_token: string }).client_token;
}

const statusOf = async (server: Server, token: string): Promise<number> =>
  (await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status;

const revoke = (server: Server, token: string) => call(server, "POST", "/v1/auth/token/revoke-self", { token });

/** How many tokens are listed. */
const listed = async (server: Server, token: string): Promise<number> =>
  (data(await call(server, "GET", "/v1/auth/token/accessors?list=true", { token })).keys as string[]).length;

it("moves from a machine to the network and back, with what lives and without what was revoked", async () => {
  const machine = await startServe({ env: SECRETS });
  onTestFinished(async () => void (await machine.stop()));
  const root = (await call(machine, "PUT", "/v1/sys/init")).body.root_token as string;
  const login = await newToken(machine, root, { no_parent: true, policies: ["default"], ttl: "5h" });
  const parent = await newToken(machine, root, { no_parent: true });
  const child = await newToken(machine, parent, { policies: ["default"] });
  const dead = await newToken(machine, root, { no_parent: true });
  await call(machine, "POST", "/v1/cubbyhole/mine", { token: parent, body: { value: "kept" } });
  await call(machine, "POST", "/v1/identity/entity", { token: root, body: { name: "somebody" } });
  const lease = { token: parent, path: "db/creds/app", ttl: "1h", target: "https://db.example.com/revoke" };
  expect((await call(machine, "POST", "/v1/sys/leases/register", { token: root, body: lease })).status).toBe(200);
  const api = { token: root, contentType: "application/vnd.api+json" };
  const named = (type: string, attributes: object) => ({ ...api, body: { data: { type, attributes } } });
  await call(
    machine,
    "POST",
    "/api/v2/organizations",
    named("organizations", { name: "acme", email: "a@example.com" }),
  );
  const made = await call(machine, "POST", "/api/v2/organizations/acme/teams", named("teams", { name: "ops" }));
  const { id: team } = data(made) as { readonly id: string };
  const given = await call(machine, "POST", `/api/v2/teams/${team}/authentication-token`, api);
  const { token: ofTeam } = data(given).attributes as { readonly token: string };
  expect((await revoke(machine, dead)).status).toBe(204);

  const first = join(above, "first");
  await killedBackup(machine, root, first);
  expect(await backup(machine, root, first)).toMatchObject({ continued: 1 });
  expect((await backup(machine, root, first)).unchanged).toBeGreaterThan(0);
  const tokens = await listed(machine, root);

  const network = await startNetwork();
  expect(await restore(network, first)).toContain("the server answers requests");
  for (const token of [root, login, parent, child]) expect(await statusOf(network, token)).toBe(200);
  expect(await statusOf(network, dead)).toBe(403);
  expect(data(await call(network, "GET", "/v1/cubbyhole/mine", { token: parent }))).toEqual({ value: "kept" });
  expect((await call(network, "GET", "/v1/identity/entity/name/somebody", { token: root })).status).toBe(200);
  expect(
    (await fetch(`${network.address}/api/v2/teams/${team}`, { headers: { Authorization: `Bearer ${ofTeam}` } })).status,
  ).toBe(200);
  await expect.poll(() => listed(network, root)).toBe(tokens);
  const here = await newToken(network, root, { no_parent: true, policies: ["default"] });
  const below = await newToken(network, parent, { policies: ["default"] });
  expect((await revoke(network, login)).status).toBe(204);
  expect((await revoke(network, child)).status).toBe(204);

  const second = join(above, "second");
  await backup(network, root, second);
  const lookup = data(await call(network, "GET", "/v1/auth/token/lookup-self", { token: here }));
  expect((await revoke(network, here)).status).toBe(204);
  await expect.poll(() => preview(network, root, second), { interval: 500 }).toEqual([lookup.accessor]);
  const back = await startServe({ env: SECRETS });
  onTestFinished(async () => void (await back.stop()));
  await restore(back, second);
  for (const token of [root, parent, here, below]) expect(await statusOf(back, token)).toBe(200);
  for (const token of [login, child, dead]) expect(await statusOf(back, token)).toBe(403);
  expect((await revoke(back, parent)).status).toBe(204);
  expect(await statusOf(back, below)).toBe(403);
  await expect(restore(back, second)).rejects.toThrow("never initialized");
}, 480_000);
