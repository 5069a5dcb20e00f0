import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  call,
  descendants,
  killWhole,
  type RunningServer,
  runScript,
  signalAll,
  startServe,
} from "./support/server.ts";

const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};
const FLAGS = ["--listen=127.0.0.1:0", "--data"];

const asRoot = (server: RunningServer, method: string, path: string, body?: unknown) =>
  call(server, method, `/v1/${path}`, { token: server.rootToken, ...(body !== undefined && { body }) });

async function newToken(server: RunningServer, endpoint = "create-orphan"): Promise<string> {
  const { status, body } = await asRoot(server, "POST", `auth/token/${endpoint}`, { ttl: "1h", policies: ["default"] });
  expect(status).toBe(200);
  return (body.auth as { client_token: string }).client_token;
}

async function statusOf(server: RunningServer, token: string): Promise<number> {
  return (await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status;
}

describe("a server that is killed while a request acts", () => {
  it("has logged the request before acting, and no response", async () => {
    const data = mkdtempSync(join(tmpdir(), "grove-killed-"));
    let reached = () => {};
    const asked = new Promise<void>((resolve) => {
      reached = resolve;
    });
    // A target of revocations that never answers.
    const engine = createServer(() => reached()).listen(0, "127.0.0.1");
    await once(engine, "listening");
    const { port } = engine.address() as AddressInfo;
    const server = await startServe({ data, env: SECRETS, flags: ["--allow-private-host=127.0.0.1"] });
    onTestFinished(async () => {
      engine.closeAllConnections();
      engine.close();
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    });
    const registered = await asRoot(server, "POST", "sys/leases/register", {
      token: server.rootToken,
      path: "db/creds/x",
      ttl: "10m",
      target: `http://127.0.0.1:${port}/`,
    });
    expect(registered.status).toBe(200);
    asRoot(server, "PUT", "sys/leases/revoke", { lease_id: registered.body.lease_id }).catch(() => {});
    await asked;
    signalAll(await descendants(server.child.pid ?? 0), "SIGKILL");
    await server.exited;

    const lines = server
      .output()
      .split("\n")
      .filter((line) => line.includes('"path":"sys/leases/revoke"'))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as { type: string; token_hash: string })
      // The gateway may have outlived the Worker for a moment and answered that it is gone.
      .filter(({ type }) => type !== "gateway");
    expect(lines).toEqual([expect.objectContaining({ type: "request", operation: "update" })]);
    expect(lines[0]?.token_hash).toMatch(/^hmac-sha256:/);
  });
});

describe("a copy of the data directory", () => {
  let above: string;
  let copy: string;
  let kept: string;
  let revoked: string;
  let later: string;
  let listed: number;
  let restored: RunningServer;

  beforeAll(async () => {
    above = mkdtempSync(join(tmpdir(), "grove-copy-"));
    copy = join(above, "copy");
    const original = join(above, "original");
    const server = await startServe({ data: original, env: SECRETS });
    kept = await newToken(server);
    revoked = await newToken(server);
    await server.stop();
    cpSync(original, copy, { recursive: true });
    const again = await startServe({ data: original, env: SECRETS });
    listed = ((await asRoot(again, "LIST", "auth/token/accessors")).body.data as { keys: string[] }).keys.length;
    later = await newToken(again);
    await asRoot(again, "POST", "auth/token/revoke", { token: revoked });
    expect(await statusOf(again, revoked)).toBe(403);
    await again.stop();
    restored = await startServe({ data: copy, env: SECRETS });
  });

  afterAll(async () => {
    await restored.stop();
    rmSync(above, { recursive: true, force: true });
  });

  it("is listed as soon as the server is there, also what was made right before its stop", () => {
    // With the root token.
    expect(listed).toBe(3);
  });

  it("starts as a server with the tokens at the time of the copy, and warns of it", async () => {
    expect([await statusOf(restored, kept), await statusOf(restored, later)]).toEqual([200, 403]);
    expect(restored.output()).toMatch(/these data are a copy.*what was revoked since is good again/);
    const storage = async () => {
      const { checks } = (await asRoot(restored, "GET", "sys/doctor")).body.data as { checks: { name: string }[] };
      return checks.find(({ name }) => name === "storage");
    };
    await expect.poll(storage).toMatchObject({ state: "attention", seen: expect.stringContaining("are a copy") });
  });

  it("brings back what was revoked since, until everything that was issued is revoked", async () => {
    expect(await statusOf(restored, revoked)).toBe(200);
    expect((await asRoot(restored, "PUT", "sys/leases/revoke-prefix/auth")).status).toBe(204);
    expect([await statusOf(restored, revoked), await statusOf(restored, kept)]).toEqual([403, 403]);
    expect(await statusOf(restored, await newToken(restored))).toBe(200);
  });

  it("needs the seal key that it was made with, and says so at the start and in every answer", async () => {
    await restored.stop();
    const wrong = await startServe({
      data: copy,
      env: { ...SECRETS, GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}` },
    });
    const message = "GROVE_SEAL_KEY is not the key that wrapped the key ring (version 1)";
    expect(wrong.output()).toContain(message);
    const answer = await asRoot(wrong, "GET", "auth/token/lookup-self");
    expect([answer.status, (answer.body.errors as string[])[0]]).toEqual([503, expect.stringContaining(message)]);
    await wrong.stop();
    restored = await startServe({ data: copy, env: SECRETS });
    expect(await statusOf(restored, restored.rootToken)).toBe(200);
  });
});

/** A file system of its own for a test; null where this user may not mount one. */
function smallDisk(megabytes: number): string | null {
  const path = mkdtempSync(join(tmpdir(), "grove-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], { stdio: "ignore" });
    return path;
  } catch {
    rmSync(path, { recursive: true });
    return null;
  }
}

function removeDisk(path: string): void {
  execFileSync("umount", [path]);
  rmSync(path, { recursive: true });
}

const probe = smallDisk(1);
if (probe !== null) removeDisk(probe);

describe.skipIf(probe === null)("a disk of its own (needs the right to mount one)", () => {
  function disk(megabytes: number): string {
    const path = smallDisk(megabytes);
    if (path === null) throw new Error("there was the right to mount one a moment ago");
    onTestFinished(() => removeDisk(path));
    return path;
  }

  function fill(path: string): void {
    const { bavail, bsize } = statfsSync(path);
    try {
      writeFileSync(join(path, "filler"), Buffer.alloc(bavail * bsize));
    } catch (error) {
      // The server has written in between: full all the same.
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }

  it("that is read-only is named at the start", async () => {
    const path = disk(40);
    mkdirSync(join(path, "data"));
    execFileSync("mount", ["-o", "remount,ro", path]);
    const program = runScript("serve", [...FLAGS, join(path, "data")], SECRETS);
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain("the file system is read-only");
  });

  it("that is full is named at the start", async () => {
    const path = disk(40);
    fill(path);
    const program = runScript("serve", [...FLAGS, join(path, "data")], SECRETS);
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(/no space is left|disk of .* is full/);
  });

  it("that fills up refuses writes and loses nothing; with space again all continues", async () => {
    const path = disk(60);
    const data = join(path, "data");
    const server = await startServe({ data, env: SECRETS });
    const kept = [await newToken(server), await newToken(server, "create")];
    fill(path);
    const refused = [
      await asRoot(server, "POST", "auth/token/create-orphan", { ttl: "1h" }),
      await asRoot(server, "POST", "auth/token/create", { ttl: "1h" }),
      await asRoot(server, "PUT", "sys/policies/acl/p", { policy: 'path "a" { capabilities = ["read"] }' }),
      await asRoot(server, "POST", "auth/token/revoke", { token: kept[0] }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    const doctor = async () =>
      ((await asRoot(server, "GET", "sys/doctor")).body.data as { checks: Record<string, unknown>[] }).checks;
    const link = "docs/runbook.md#the-disk-is-full";
    await expect.poll(doctor).toContainEqual(expect.objectContaining({ name: "disk", state: "failing", link }));
    for (const token of kept) expect(await statusOf(server, token)).toBe(200);
    expect((await asRoot(server, "GET", "sys/policies/acl/p")).status).toBe(404);
    rmSync(join(path, "filler"));
    await expect
      .poll(doctor, { timeout: 10_000 })
      .toContainEqual(expect.objectContaining({ name: "disk", state: "attention", link }));
    const made = [await newToken(server), await newToken(server, "create")];
    expect((await asRoot(server, "POST", "auth/token/revoke", { token: kept[0] })).status).toBe(204);
    await server.stop();
    const again = await startServe({ data, env: SECRETS });
    onTestFinished(() => again.stop().then(() => {}));
    const statuses = await Promise.all([...kept, ...made].map((token) => statusOf(again, token)));
    expect(statuses).toEqual([403, 200, 200, 200]);
    await again.stop();
  });
});

describe("a damaged database", () => {
  let above: string;
  let original: string;

  beforeAll(async () => {
    above = mkdtempSync(join(tmpdir(), "grove-damage-"));
    original = join(above, "original");
    const server = await startServe({ data: original, env: SECRETS });
    await newToken(server);
    await server.stop();
  });
  afterAll(() => rmSync(above, { recursive: true, force: true }));

  /** A copy of the data in which the databases of a class that `which` chooses begin with something else. */
  function damaged(name: string, className: string, which: (file: string) => boolean) {
    const data = join(above, name);
    cpSync(original, data, { recursive: true });
    const directory = readdirSync(join(data, "objects")).find((one) => one.startsWith(`${className}-`)) ?? "";
    const files = readdirSync(join(data, "objects", directory)).filter(
      (file) => file.endsWith(".sqlite") && which(file),
    );
    const paths = files.map((file) => join(data, "objects", directory, file));
    for (const path of paths) {
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill("garbage", 0, 100));
    }
    return { data, paths };
  }
  const isMetadata = (file: string) => file === "metadata.sqlite";

  it("of the installation is named in the output, and every answer says so", async () => {
    const { data, paths } = damaged("system", "System", (file) => !isMetadata(file));
    const server = await startServe({ data, env: SECRETS });
    onTestFinished(() => server.stop().then(() => {}));
    const health = () => fetch(`${server.address}/v1/sys/health`);
    await expect.poll(async () => (await health()).headers.get("X-Grove-Fault")).toBe("database_damaged");
    expect(await (await health()).json()).toEqual({ errors: [expect.stringContaining("is damaged")] });
    expect(server.output()).toContain(`damaged: ${paths[0]} (file is not a database)`);
  });

  it("of a list is named by the doctor, without the id of the installation", async () => {
    const { data, paths } = damaged("lists", "Identity", (file) => !isMetadata(file));
    const server = await startServe({ data, env: SECRETS });
    onTestFinished(() => server.stop().then(() => {}));
    const doctor = async () => {
      const { checks } = (await asRoot(server, "GET", "sys/doctor")).body.data as { checks: { name: string }[] };
      return checks.find(({ name }) => name === "disk");
    };
    const seen = `damaged below objects/: Identity/${paths[0]?.split("/").at(-1)}`;
    await expect.poll(doctor).toMatchObject({ state: "failing", seen });
  });

  it("without which workerd ends at once is named too", async () => {
    const { data, paths } = damaged("metadata", "TokenTree", isMetadata);
    const program = runScript("serve", [...FLAGS, data], SECRETS);
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(`damaged: ${paths[0]} (file is not a database)`);
    expect(program.output()).toMatch(/docs\/runbook\.md, A database is damaged/);
  });
});

describe("a revocation by filter whose server is killed in the middle of it", () => {
  const data = mkdtempSync(join(tmpdir(), "grove-revocation-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  it("continues at the next start, and ends exactly the selected tokens and their descendants", async () => {
    const create = async (server: RunningServer, token: string, name: string, isAlone = token === server.rootToken) => {
      const body = { ttl: "1h", policies: ["root"], no_parent: isAlone, display_name: name };
      const made = await call(server, "POST", "/v1/auth/token/create", { token, body });
      return (made.body.auth as { client_token: string }).client_token;
    };
    const read = async (server: RunningServer, path: string) =>
      (await asRoot(server, "GET", path)).body.data as Record<string, unknown>;
    let server = await startServe({ data, env: SECRETS });
    const victims: string[] = [];
    // A step of the job takes 200 tokens: some are trees of their own, and others stand in one tree.
    for (let round = 0; round < 40; round++) {
      const some = Array.from({ length: 20 }, () => create(server, server.rootToken, "many", round < 3));
      victims.push(...(await Promise.all(some)));
    }
    const below = await create(server, victims.at(-1) ?? "", "below");
    const bystanders = await Promise.all(["few", "many-more"].map((name) => create(server, server.rootToken, name)));
    const filter = { display_name: "token-many", include_root: true };
    const preview = await asRoot(server, "POST", "sys/tokens/revoke", filter);
    const total = victims.length + 1;
    expect(preview.body.data).toMatchObject({ count: victims.length, total });
    const real = { ...filter, dry_run: false, expected_count: victims.length, expected_total: total };
    const { job } = (await asRoot(server, "POST", "sys/tokens/revoke", real)).body.data as { job: string };
    const path = `sys/tokens/jobs/${job}`;
    let middle = 0;
    while (middle === 0) middle = Number((await read(server, path)).revoked);
    await killWhole(server);
    expect(middle).toBeLessThan(victims.length);

    server = await startServe({ data, env: SECRETS });
    try {
      await expect.poll(async () => (await read(server, path)).state).toBe("done");
      const done = await read(server, path);
      expect(done).toMatchObject({ matched: victims.length, revoked: victims.length, total, ended_before: 0 });
      for (let at = 0; at < victims.length; at += 20) {
        const statuses = await Promise.all(victims.slice(at, at + 20).map((token) => statusOf(server, token)));
        expect(new Set(statuses)).toEqual(new Set([403]));
      }
      expect(await statusOf(server, below)).toBe(403);
      const receipt = () => read(server, `${path}/receipt`);
      await expect.poll(async () => (await receipt()).complete).toBe(true);
      const { accessors, numbers } = (await receipt()) as { accessors: string[]; numbers: object };
      expect(numbers).toMatchObject({ matched: victims.length, total });
      expect(new Set(accessors).size).toBe(total);
      const checked = await asRoot(server, "POST", "sys/tokens/verify-ended", { accessors });
      expect(checked.body.data).toMatchObject({ checked: total, ended: total, unknown: 0, alive: [] });
      expect(await Promise.all(bystanders.map((token) => statusOf(server, token)))).toEqual([200, 200]);
    } finally {
      await server.stop();
    }
  });
});
