import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { onPort, waitUntilAnswers } from "../../scripts/local/wait-until-answers.ts";
import { BUCKET, BucketEmulator } from "../support/bucket.ts";
import { freePort } from "../support/free-port.ts";
import { Load } from "./support/load.ts";
import { call, PROJECT, type RunningServer, startServe, wordsOf } from "./support/server.ts";
import { buildHere, startMixed } from "./support/two-releases.ts";

const SECRETS = { GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`, GROVE_DEV_ROOT_TOKEN: "" };
const START_MS = 60_000;
const run = promisify(execFile);

let above: string;

beforeAll(() => {
  above = mkdtempSync(join(tmpdir(), "grove-move-"));
});

afterAll(() => {
  rmSync(above, { recursive: true, force: true });
});

interface Made {
  readonly name: string;
  readonly at: string;
  readonly parts: number;
  readonly unchanged: number;
  readonly continued: number;
}

/** A server as this test calls it. */
type Server = Pick<RunningServer, "address">;

const backupWords = (address: string, to: string) => [
  ...wordsOf("backup"),
  ...["--address", address, "--to", to, "--json"],
];

async function backup({ address }: Server, token: string, to: string): Promise<Made> {
  const env = { ...process.env, VAULT_TOKEN: token };
  const { stdout } = await run(process.execPath, backupWords(address, to), { cwd: PROJECT, env });
  return JSON.parse(stdout) as Made;
}

async function restore({ address }: Server, from: string): Promise<string> {
  const env = { ...process.env, VAULT_ADDR: address };
  const words = [...wordsOf("grove"), "restore", "--from", from];
  return (await run(process.execPath, words, { cwd: PROJECT, env })).stdout;
}

/** Accessors of what a restore of the newest backup would make valid again, as the server of the backup knows it. */
async function preview({ address }: Server, token: string, from: string): Promise<string[]> {
  const env = { ...process.env, VAULT_ADDR: address, VAULT_TOKEN: token };
  const words = [...wordsOf("grove"), "restore", "--from", from, "--preview", "--json"];
  const { stdout } = await run(process.execPath, words, { cwd: PROJECT, env });
  const { tokens } = JSON.parse(stdout) as { readonly tokens: readonly { readonly token: { accessor: string } }[] };
  return tokens.map((one) => one.token.accessor);
}

/**
 * A proxy in front of a server. Ends with the test.
 *
 * @param before is waited for before a call is sent on. @returns its address.
 */
async function startProxy(server: Server, token: string, before: (path: string) => Promise<unknown>): Promise<Server> {
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "";
    await before(path);
    const method = request.method ?? "GET";
    const headers = { "X-Vault-Token": token, "Content-Type": "application/json" };
    const body = method === "POST" ? Buffer.concat(chunks) : undefined;
    const answer = await fetch(`${server.address}${path}`, { method, headers, ...(body && { body }) });
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  await once(proxy, "listening");
  const place = proxy.address();
  return { address: `http://127.0.0.1:${typeof place === "object" ? place?.port : 0}` };
}

/** Begins a backup through a proxy that loses every call after the first part, and kills it there. */
async function killedBackup(server: Server, token: string, to: string): Promise<void> {
  const second = Promise.withResolvers<void>();
  let parts = 0;
  const proxy = await startProxy(server, token, async (path) => {
    if (path !== "/v1/sys/backup/part" || ++parts === 1) return;
    second.resolve();
    await new Promise(() => undefined);
  });
  const env = { ...process.env, VAULT_TOKEN: token };
  const child = spawn(process.execPath, backupWords(proxy.address, to), { cwd: PROJECT, env });
  await second.promise;
  child.kill("SIGKILL");
  await once(child, "close");
}

/** Changes that a load makes before a backup and between two calls of it. */
const CHANGES = 24;
const CHANGES_BETWEEN = 4;

/** Makes a backup under load: tokens are made, renewed and revoked before each of its calls. @returns when it began (ms). */
async function loadedBackup(server: Server, token: string, to: string): Promise<{ load: Load; began: number }> {
  const load = new Load(server, token);
  await load.changes(CHANGES);
  const proxy = await startProxy(server, token, (path) =>
    path.startsWith("/v1/sys/backup/") ? load.changes(CHANGES_BETWEEN) : Promise.resolve(),
  );
  const { at, parts } = await backup(proxy, token, to);
  await load.stop();
  expect(parts).toBeGreaterThan(BALLAST);
  const began = Date.parse(at);
  for (const [before, later] of Object.values(load.counts(began))) {
    expect(before).toBeGreaterThan(0);
    expect(later).toBeGreaterThan(0);
  }
  return { load, began };
}

/** Trees of nearly a part each: those that a load changes are then in many parts. */
const BALLAST = 3;
const BALLAST_BYTES = 700_000;

async function makeBallast(server: Server, token: string): Promise<void> {
  for (let made = 0; made < BALLAST; made++) {
    const value = randomBytes(BALLAST_BYTES).toString("base64");
    const owner = await newToken(server, token, { no_parent: true, ttl: "1h" });
    expect((await call(server, "POST", "/v1/cubbyhole/large", { token: owner, body: { value } })).status).toBe(204);
  }
}

/** The Worker as on the network: objects are in another isolate, and no id of another machine can be made. */
async function startNetwork(): Promise<Server> {
  const directory = mkdtempSync(join(above, "network-"));
  const here = { build: await buildHere(join(directory, "worker")), at: "worker" };
  const port = await freePort();
  // Copies of other isolates are soon too old.
  const child = await startMixed(directory, here, here, { ...SECRETS, POLICY_CACHE_SECONDS: "1" }, port);
  onTestFinished(async () => void (await child.stop()));
  expect(await waitUntilAnswers(onPort(port), child.ended, START_MS)).toBe(true);
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

it("moves from a machine to the network and back under load: what was answered before each backup is there", async () => {
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
  await makeBallast(machine, root);

  const first = join(above, "first");
  await killedBackup(machine, root, first);
  expect(await backup(machine, root, first)).toMatchObject({ continued: 1 });
  expect((await backup(machine, root, first)).unchanged).toBeGreaterThan(0);
  const tokens = await listed(machine, root);
  const onMachine = await loadedBackup(machine, root, first);

  const network = await startNetwork();
  expect(await restore(network, first)).toContain("the server answers requests");
  // The isolate of the objects knows of the end of the restore after POLICY_CACHE_SECONDS at the latest.
  for (const token of [root, login, parent, child]) await expect.poll(() => statusOf(network, token)).toBe(200);
  expect(await statusOf(network, dead)).toBe(403);
  expect(data(await call(network, "GET", "/v1/cubbyhole/mine", { token: parent }))).toEqual({ value: "kept" });
  expect((await call(network, "GET", "/v1/identity/entity/name/somebody", { token: root })).status).toBe(200);
  expect(
    (await fetch(`${network.address}/api/v2/teams/${team}`, { headers: { Authorization: `Bearer ${ofTeam}` } })).status,
  ).toBe(200);
  const moved = await onMachine.load.expectRestored(network, onMachine.began);
  await expect.poll(() => listed(network, root)).toBe(tokens + moved.valid.length);
  const here = await newToken(network, root, { no_parent: true, policies: ["default"] });
  const below = await newToken(network, parent, { policies: ["default"] });
  const accessorOf = async (token: string) =>
    data(await call(network, "GET", "/v1/auth/token/lookup-self", { token })).accessor;
  const revokedBefore = await Promise.all([login, child].map(accessorOf));
  expect((await revoke(network, login)).status).toBe(204);
  expect((await revoke(network, child)).status).toBe(204);

  const second = join(above, "second");
  const onNetwork = await loadedBackup(network, root, second);
  const revokedSince = await accessorOf(here);
  expect((await revoke(network, here)).status).toBe(204);
  const back = await startServe({ env: SECRETS });
  onTestFinished(async () => void (await back.stop()));
  await restore(back, second);
  for (const token of [root, parent, here, below]) expect(await statusOf(back, token)).toBe(200);
  const { returned } = await onNetwork.load.expectRestored(back, onNetwork.began);
  // The network still answers, and knows what was revoked there.
  const all = expect.arrayContaining([...returned, revokedSince]);
  await expect.poll(() => preview(network, root, second), { interval: 500 }).toEqual(all);
  const comesBack = await preview(network, root, second);
  for (const accessor of revokedBefore) expect(comesBack).not.toContain(accessor);
  for (const token of [login, child, dead]) expect(await statusOf(back, token)).toBe(403);
  expect((await revoke(back, parent)).status).toBe(204);
  expect(await statusOf(back, below)).toBe(403);
  await expect(restore(back, second)).rejects.toThrow("never initialized");
}, 480_000);

/** A cluster of one node, with a bucket of its own. Ends with the test. */
async function startCluster(): Promise<Server> {
  const bucket = await BucketEmulator.start();
  onTestFinished(() => bucket.close());
  const env = { ...SECRETS, ...bucket.environment, GROVE_CLUSTER_KEY: randomBytes(32).toString("hex") };
  const flags = ["--cluster", `s3://${BUCKET}/move`, "--cluster-listen", `127.0.0.1:${await freePort()}`];
  const node = await startServe({ env, flags });
  onTestFinished(async () => void (await node.stop()));
  return node;
}

async function startMachine(): Promise<Server> {
  const machine = await startServe({ env: SECRETS });
  onTestFinished(async () => void (await machine.stop()));
  return machine;
}

it.each([
  ["a machine", startMachine],
  ["the network", startNetwork],
])(
  "moves from %s to a cluster and back: what was answered is there, and what was revoked is refused",
  async (_, start) => {
    const first = await start();
    const root = (await call(first, "PUT", "/v1/sys/init")).body.root_token as string;
    const load = new Load(first, root);
    await load.changes(CHANGES);
    await load.stop();
    const parent = await newToken(first, root, { no_parent: true });
    const child = await newToken(first, parent, { policies: ["default"] });
    const dead = await newToken(first, root, { no_parent: true });
    await call(first, "POST", "/v1/cubbyhole/mine", { token: parent, body: { value: "kept" } });
    expect((await revoke(first, dead)).status).toBe(204);

    const there = mkdtempSync(join(above, "to-cluster-"));
    const out = Date.parse((await backup(first, root, there)).at);
    const cluster = await startCluster();
    expect(await restore(cluster, there)).toContain("the server answers requests");
    for (const token of [root, parent, child]) await expect.poll(() => statusOf(cluster, token)).toBe(200);
    expect(await statusOf(cluster, dead)).toBe(403);
    expect(data(await call(cluster, "GET", "/v1/cubbyhole/mine", { token: parent }))).toEqual({ value: "kept" });
    await load.expectRestored(cluster, out);
    const made = await newToken(cluster, parent, { policies: ["default"] });
    expect((await revoke(cluster, child)).status).toBe(204);

    const home = mkdtempSync(join(above, "from-cluster-"));
    const returned = Date.parse((await backup(cluster, root, home)).at);
    const back = await start();
    await restore(back, home);
    for (const token of [root, parent, made]) await expect.poll(() => statusOf(back, token)).toBe(200);
    for (const token of [child, dead]) expect(await statusOf(back, token)).toBe(403);
    expect(data(await call(back, "GET", "/v1/cubbyhole/mine", { token: parent }))).toEqual({ value: "kept" });
    await load.expectRestored(back, returned);
  },
  480_000,
);
