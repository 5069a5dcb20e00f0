import { createHash, randomBytes } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inPool } from "../../src/base/parallel.ts";
import { BUCKET, BucketEmulator } from "../support/bucket.ts";
import { freePort } from "../support/free-port.ts";
import { ALLOWS_ISSUER, type DeclaredIssuer, startDeclaredIssuer } from "./support/declared-issuer.ts";
import {
  call,
  descendants,
  killWhole,
  type Program,
  type RunningServer,
  runScript,
  signalAll,
  startServe,
} from "./support/server.ts";

const DATA = join(tmpdir(), `grove-cluster-${randomBytes(6).toString("hex")}`);

/** A lease of a node takes 20 s divided by this. */
const TIME_DIVISOR = 5;
const LEASE_MS = 20_000 / TIME_DIVISOR;

const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_CLUSTER_KEY: randomBytes(32).toString("hex"),
};
const FILE = `${DATA}-start.hcl`;

let bucket: BucketEmulator;
let issuer: DeclaredIssuer;
/** A node that was killed in the middle of the declared start. */
let killed: Program;
const nodes: RunningServer[] = [];
/** The cluster port of the first node. */
let clusterPort: number;
/** The token of an administrator, by the method that the file declares. */
let admin: { readonly client_token: string; readonly accessor: string };

function environment(): Record<string, string> {
  // Other tests start with a root token.
  const noRoot = { GROVE_DEV_ROOT_TOKEN: "" };
  const times = { GROVE_CLUSTER_UNSAFE_TIME_DIVISOR: String(TIME_DIVISOR) };
  return { ...SECRETS, ...bucket.environment, ...noRoot, ...times };
}

async function clusterFlags(port?: number): Promise<string[]> {
  const place = ["--cluster", `s3://${BUCKET}/e2e`, "--cluster-listen", `127.0.0.1:${port ?? (await freePort())}`];
  return [...place, ...ALLOWS_ISSUER, "--init", FILE];
}

async function startNode(data?: string, port?: number): Promise<RunningServer> {
  return startServe({ env: environment(), flags: await clusterFlags(port), ...(data !== undefined && { data }) });
}

beforeAll(async () => {
  bucket = await BucketEmulator.start();
  clusterPort = await freePort();
  issuer = await startDeclaredIssuer();
  issuer.writeExample(FILE);
  const asked = issuer.hold();
  const flags = ["--listen=127.0.0.1:0", "--data", `${DATA}-killed`, ...(await clusterFlags())];
  killed = runScript("serve", flags, environment());
  await Promise.race([asked, killed.exited.then(() => expect.fail(killed.output()))]);
  await killWhole(killed);
  issuer.release();
  nodes.push(...(await Promise.all([startNode(undefined, clusterPort), startNode(DATA), startNode()])));
  const login = await issuer.logIn(node(0));
  expect(login.status).toBe(200);
  admin = login.body.auth as typeof admin;
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await bucket.close();
  issuer.close();
  for (const name of [DATA, FILE, `${DATA}-killed`, `${DATA}-stranger`]) {
    await rm(name, { recursive: true, force: true });
  }
});

function node(at: number): RunningServer {
  const found = nodes[at];
  if (!found) throw new Error(`there is no node ${at}`);
  return found;
}

async function newToken(at: number, endpoint = "create-orphan", policies = ["default"]): Promise<string> {
  const request = { token: admin.client_token, body: { ttl: "1h", policies } };
  const { status, body } = await call(node(at), "POST", `/v1/auth/token/${endpoint}`, request);
  expect(status).toBe(200);
  return (body.auth as { client_token: string }).client_token;
}

async function asHolder(at: number, token: string, method: string, operation: string): Promise<number> {
  return (await call(node(at), method, `/v1/auth/token/${operation}`, { token })).status;
}

const isReady = async (at: number): Promise<number> => (await fetch(`${node(at).address}/ready`)).status;

describe("a declared start of three nodes at once, after a fourth that was killed in the middle", () => {
  it("is one start: a node completes it, the others wait and serve then, and no root token is left", async () => {
    expect(killed.output()).not.toContain("Grove listens on");
    const said = nodes.map(
      (one) => /serve: (?:initialized with|Grove (?:is|was) initialized).*/.exec(one.output())?.[0],
    );
    expect(said.filter((line) => line?.includes("no root token is left"))).toHaveLength(1);
    expect(said.filter((line) => line?.includes("Grove was initialized by another program meanwhile"))).toHaveLength(2);
    // A node first sends what its own trees have for the lists.
    const listed = () => call(node(0), "LIST", "/v1/auth/token/accessors", { token: admin.client_token });
    expect(await listed()).toMatchObject({ status: 200, body: { data: { keys: [admin.accessor] } } });
    for (const one of nodes) expect((await issuer.logIn(one)).status).toBe(200);
  });
});

describe("three nodes with one bucket", () => {
  it("are ready, and are one installation", async () => {
    const health = await Promise.all(nodes.map((one) => call(one, "GET", "/v1/sys/health")));
    expect(new Set(health.map(({ body }) => body.cluster_id)).size).toBe(1);
    for (const at of [0, 1, 2]) expect(await isReady(at)).toBe(200);
  });

  it("know each other's tokens: one is made at the first, renewed at the second, revoked at the third", async () => {
    const token = await newToken(0);
    for (const at of [0, 1, 2]) expect(await asHolder(at, token, "GET", "lookup-self")).toBe(200);
    expect(await asHolder(1, token, "POST", "renew-self")).toBe(200);
    expect(await asHolder(2, token, "POST", "revoke-self")).toBe(204);
    for (const at of [0, 1, 2]) expect(await asHolder(at, token, "GET", "lookup-self")).toBe(403);
  });

  it("end the tokens of a secret-id at every node before the node that destroys it answers", async () => {
    const role = "/v1/auth/approle/role/ending";
    const token = admin.client_token;
    const body = { role_id: "ending", token_ends_with_secret_id: true };
    expect((await call(node(0), "POST", role, { token, body })).status).toBe(204);
    const made = (await call(node(1), "POST", `${role}/secret-id`, { token })).body.data as { secret_id: string };
    const logIn = async (at: number): Promise<string> => {
      const credentials = { role_id: "ending", secret_id: made.secret_id };
      const { status, body } = await call(node(at), "POST", "/v1/auth/approle/login", { body: credentials });
      expect(status, JSON.stringify(body)).toBe(200);
      return (body.auth as { client_token: string }).client_token;
    };
    const tokens = await Promise.all([0, 1, 2, 0].map(logIn));
    for (const one of tokens) expect(await asHolder(2, one, "GET", "lookup-self")).toBe(200);
    expect((await call(node(2), "POST", `${role}/secret-id/destroy`, { token, body: made })).status).toBe(204);
    for (const at of [0, 1, 2]) {
      for (const one of tokens) expect(await asHolder(at, one, "GET", "lookup-self")).toBe(403);
    }
  });

  it("give one token for a secret-id of one use, whatever number of logins come at once to all of them", async () => {
    const role = "/v1/auth/approle/role/once";
    const token = admin.client_token;
    const body = { role_id: "once", secret_id_num_uses: 1 };
    expect((await call(node(0), "POST", role, { token, body })).status).toBe(204);
    const made = (await call(node(1), "POST", `${role}/secret-id`, { token })).body.data as { secret_id: string };
    const credentials = { role_id: "once", secret_id: made.secret_id };
    const logIn = (_: unknown, index: number) =>
      call(node(index % nodes.length), "POST", "/v1/auth/approle/login", { body: credentials });
    const answers = await Promise.all(Array.from({ length: 30 }, logIn));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 29 }, () => 400)]);
  });

  it("leave neither the configuration with the cluster's key nor the installation's id on a disk", async () => {
    expect(await readdir(join(node(0).data, "worker"))).toEqual(["index.js"]);
    expect(await readdir(node(0).data)).not.toContain("installation-id");
  });
});

/** Updates of lists wait for a second. */
const QUIET_MS = 3000;

describe("the bucket", () => {
  let renewed: Promise<string>;

  beforeAll(() => {
    renewed = newToken(0);
  });

  /**
   * Mean number of requests about objects for an operation, in the first try with less than `bound` or the quietest of many: what
   * the nodes do by themselves, such as updates of lists after the tests before, is not in every one.
   */
  async function requestsOf(operation: () => Promise<unknown>, bound: number): Promise<number> {
    const means: number[] = [];
    for (let attempt = 0; attempt < 40 && !means.some((mean) => mean < bound); attempt++) {
      const from = bucket.requests.length;
      for (let time = 0; time < 10; time++) await operation();
      means.push(aboutObjects(from) / 10);
    }
    return Math.min(...means);
  }

  /** Number of requests about objects since `from`. The others are about leases of nodes. */
  function aboutObjects(from: number): number {
    return bucket.requests.slice(from).filter(({ key }) => key.includes("/workerd/v1/do/")).length;
  }

  /** Resolves when the nodes have asked nothing about objects for some time: what followed the last operation is over. */
  async function quiet(): Promise<void> {
    let from: number;
    do {
      from = bucket.requests.length;
      await pause(QUIET_MS);
    } while (aboutObjects(from) > 0);
  }

  const revoke = (token: string) =>
    call(node(0), "POST", "/v1/auth/token/revoke", { token: admin.client_token, body: { token } });

  it("gets no request from a look-up at any node, and two from each of the two commits of a child", async () => {
    const token = await newToken(0);
    for (const at of [0, 1, 2]) {
      await asHolder(at, token, "GET", "lookup-self");
      expect(await requestsOf(() => asHolder(at, token, "GET", "lookup-self"), 0.5)).toBeLessThan(0.5);
    }
    // A commit is a PUT, and a GET that shows that the object is still this node's. The tree commits the child, and a shard
    // of the audit store its record.
    expect(await requestsOf(() => newToken(0, "create"), 6)).toBeLessThan(6);
  });

  // With the record in the audit store, and what the operations before leave for later.
  it.each([
    ["a renewal", 6, async () => asHolder(1, await renewed, "POST", "renew-self")],
    ["a child and its revocation", 14, async () => revoke(await newToken(0, "create"))],
    ["an orphan", 12, () => newToken(1)],
    ["a login", 14, () => issuer.logIn(node(2))],
  ] as const)("is asked by %s fewer than %d times", async (_, bound, operation) => {
    expect(await requestsOf(operation, bound)).toBeLessThan(bound);
  });

  it("gets fewer than 300 requests from the revocation of 1,000 tokens and its clean-up", async () => {
    const parent = await newToken(0, "create-orphan", []);
    const asParent = { token: parent, body: { ttl: "1h", policies: ["default"] } };
    await inPool(Array.from({ length: 1000 }), 16, () => call(node(0), "POST", "/v1/auth/token/create", asParent));
    await quiet();
    const from = bucket.requests.length;
    await revoke(parent);
    await quiet();
    expect(aboutObjects(from)).toBeLessThan(300);
  });
});

/** Longest wait for the answer to a stranger (ms): most get none. */
const STRANGER_MS = 300;

/** What the first node's cluster port answers to some bytes, as text. @param waits until there is an answer, however long. */
function asStranger(bytes: Buffer | string, waits = false): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(clusterPort, "127.0.0.1", () => socket.write(bytes));
    const timer = waits ? undefined : setTimeout(() => socket.destroy(), STRANGER_MS);
    socket.on("data", (piece) => {
      answer += piece.toString("latin1");
      if (waits) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** Bytes that look random, and are the same in every run. */
function noise(at: number): Buffer {
  const pieces = Array.from({ length: 1 + ((at * 7) % 40) }, (_, piece) =>
    createHash("sha256").update(`${at} ${piece}`).digest(),
  );
  return Buffer.concat(pieces).subarray(at % 3);
}

describe("a stranger at the cluster port", () => {
  const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "LIST", "CONNECT", "TRACE"];
  const PATHS = ["/", "/v1/sys/health", "/v1/auth/token/lookup-self", "/ready/", "/ready/../v1/sys/mounts", "/metrics"];
  const HEADERS = ["", "Upgrade: websocket\r\nConnection: Upgrade\r\n", "Authorization: Bearer x\r\n"];

  /** No answer, or a refusal without anything of the installation. */
  async function expectNothing(answers: readonly string[]): Promise<void> {
    const health = await call(node(0), "GET", "/v1/sys/health");
    for (const answer of answers) {
      expect(answer).not.toMatch(/^HTTP\/1\.1 (?:1|2|3)/);
      for (const secret of [...Object.values(SECRETS), admin.client_token, String(health.body.cluster_id)]) {
        expect(answer).not.toContain(secret);
      }
    }
    await expect.poll(() => isReady(0)).toBe(200);
    expect(await asHolder(0, admin.client_token, "GET", "lookup-self")).toBe(200);
  }

  it("gets nothing for requests of any kind, whole or cut off", async () => {
    const requests = METHODS.flatMap((method) =>
      PATHS.flatMap((path) =>
        HEADERS.map(
          (header) =>
            `${method} ${path} HTTP/1.1\r\nHost: grove\r\nX-Vault-Token: ${admin.client_token}\r\n${header}\r\n`,
        ),
      ),
    );
    const cut = requests.map((request, at) => request.slice(0, 1 + ((at * 13) % request.length)));
    const answers = await Promise.all(requests.map((request) => asStranger(request)));
    expect(await asStranger(requests[0] ?? "", true)).toMatch(/^HTTP\/1\.1 4/);
    await expectNothing(answers);
    await expectNothing(await Promise.all(cut.map((part) => asStranger(part))));
  });

  it("gets nothing for other bytes, and the node goes on", async () => {
    const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const lengths = ["ffffffffffffffff", "00000000ffffff7f", "0000000000000000", "ffffff0000000000"];
    const frames = lengths.map((length) => Buffer.concat([Buffer.from(length, "hex"), noise(1)]));
    const all = [preface, ...frames, ...Array.from({ length: 150 }, (_, at) => noise(at))];
    await expectNothing(await Promise.all(all.map((bytes) => asStranger(bytes))));
  });
});

describe("a node whose bucket is out of reach at its start", () => {
  it("tries again until it is asked to stop", async () => {
    const data = `${DATA}-waiting`;
    const flags = ["--listen=127.0.0.1:0", "--data", data, ...(await clusterFlags())];
    const nowhere = { AWS_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}` };
    const waiting = runScript("serve", flags, { ...environment(), ...nowhere });
    const ended = waiting.exited.then((code) => expect.fail(`exit ${code}: ${waiting.output()}`));
    // The third attempt is after two pauses.
    await Promise.race([expect.poll(waiting.output).toContain("tried again in 2 s"), ended]);
    ended.catch(() => {});
    waiting.child.kill("SIGTERM");
    expect(await waiting.exited).toBe(1);
    expect(waiting.output()).toContain("asked to stop");
    await rm(data, { recursive: true, force: true });
  });
});

describe("a node that does not fit", () => {
  it.each([
    ["another seal key", { GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}` }, "GROVE_SEAL_KEY is not that"],
    ["another cluster key", { GROVE_CLUSTER_KEY: randomBytes(32).toString("hex") }, "GROVE_CLUSTER_KEY is not that"],
  ])("does not start with %s, and says so", async (_, change, reason) => {
    const flags = ["--listen=127.0.0.1:0", "--data", `${DATA}-stranger`, ...(await clusterFlags())];
    const stranger = runScript("serve", flags, { ...environment(), ...change });
    expect(await stranger.exited).toBe(1);
    expect(stranger.output()).toContain(reason);
  });
});

describe("a node that is killed, and its disk with it", () => {
  it("loses nothing: answered writes are there, and revoked tokens are refused", async () => {
    // The tree of an orphan begins at the node that makes it.
    const live = await Promise.all([0, 1, 2, 0].map((at) => newToken(at)));
    const children = await Promise.all([0, 1, 2].map((at) => newToken(at, "create")));
    const revoked = await Promise.all([0, 1, 2, 0].map((at) => newToken(at)));
    for (const token of revoked) expect(await asHolder(1, token, "POST", "revoke-self")).toBe(204);
    const data = node(0).data;
    await killWhole(node(0));
    await rm(data, { recursive: true, force: true });

    // Until another node owns the objects, the answer says when to try again.
    const answer = await fetch(`${node(1).address}/v1/auth/token/lookup-self`, {
      headers: { "X-Vault-Token": live[0] ?? "" },
    });
    expect([200, 503]).toContain(answer.status);
    expect(answer.headers.has("Retry-After")).toBe(answer.status === 503);
    await answer.text();

    // `call` tries again after a 503.
    for (const at of [1, 2]) {
      for (const token of [...live, ...children]) expect(await asHolder(at, token, "GET", "lookup-self")).toBe(200);
      for (const token of revoked) expect(await asHolder(at, token, "GET", "lookup-self")).toBe(403);
    }
    nodes[0] = await startNode();
    for (const token of [...live, ...children]) expect(await asHolder(0, token, "GET", "lookup-self")).toBe(200);
    for (const token of revoked) expect(await asHolder(0, token, "GET", "lookup-self")).toBe(403);
  });
});

describe("a node that slept past its lease", () => {
  it("serves nothing from its old state, logs why, and is restarted", async () => {
    const token = await newToken(2);
    const programs = await descendants(node(2).child.pid ?? 0);
    for (const pid of programs) process.kill(pid, "SIGSTOP");
    await pause(LEASE_MS * 1.5);
    // Another node has taken the tree over.
    expect(await asHolder(1, token, "POST", "revoke-self")).toBe(204);
    signalAll(programs, "SIGCONT");
    await expect.poll(() => node(2).output()).toContain("workerd ended (");
    expect(node(2).output()).toContain("this node serves nothing");
    await expect.poll(() => isReady(2)).toBe(200);
    expect(await asHolder(2, token, "GET", "lookup-self")).toBe(403);
  });
});

/** Sends a request as a client behind a balancer that asks /ready before. @throws what was wrong with the answer. */
async function askReady(method: string, path: string, token: string, body?: object): Promise<Response> {
  const states = await Promise.all(nodes.map((_, at) => isReady(at).catch(() => 0)));
  const ready = nodes.filter((_, at) => states[at] === 200);
  const chosen = ready[Math.floor(Math.random() * ready.length)];
  if (!chosen) throw new Error("no node is ready");
  const answer = await fetch(`${chosen.address}/v1/${path}`, {
    method,
    headers: { "X-Vault-Token": token, Connection: "close" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

describe("a node that is asked to stop", () => {
  it("says that it is not ready, serves on, and hands its objects over without a failed request", async () => {
    const tokens = await Promise.all([0, 1, 2, 1].map((at) => newToken(at)));
    const { address } = node(1);
    let isOver = false;
    void node(1).exited.then(() => {
      isOver = true;
    });
    const failed: string[] = [];
    let answered = 0;
    const clients = tokens.map(async (token, at) => {
      while (!isOver) {
        try {
          await askReady("GET", "auth/token/lookup-self", token);
          await askReady("POST", "auth/token/renew-self", token);
          await askReady("POST", `auth/token/roles/moving-${at}`, admin.client_token, { period: "1h" });
          answered++;
        } catch (error) {
          failed.push(String(error));
        }
      }
    });
    node(1).child.kill("SIGTERM");
    await expect.poll(() => isReady(1)).toBe(503);
    const [token = ""] = tokens;
    expect((await call({ address }, "GET", "/v1/auth/token/lookup-self", { token })).status).toBe(200);
    expect(await node(1).exited).toBe(0);
    await Promise.all(clients);
    expect(failed).toEqual([]);
    expect(answered).toBeGreaterThan(tokens.length);
    nodes.splice(1, 1);
    // Its disk may be out of date, so no server that is one process uses it.
    const alone = runScript("serve", ["--listen=127.0.0.1:0", "--data", DATA], SECRETS);
    expect(await alone.exited).toBe(1);
    expect(alone.output()).toContain("is of a node of a cluster");
  });
});
