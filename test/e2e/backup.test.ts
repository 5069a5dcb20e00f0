import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findDamage } from "../../bench/kill/damage.ts";
import { call, PROJECT, type RunningServer, startServe, wordsOf } from "./support/server.ts";

const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};
const run = promisify(execFile);

interface Backup {
  readonly directory: string;
  readonly at: string;
  readonly databases: number;
  readonly pausedMs: number;
  readonly sealKeyVersion?: number;
}

async function backup(data: string, to: string): Promise<Backup> {
  const words = [...wordsOf("backup"), "--data", data, "--to", to, "--keep", "2", "--json"];
  const { stdout } = await run(process.execPath, words, { cwd: PROJECT });
  return JSON.parse(stdout) as Backup;
}

describe("a backup of a server that runs", () => {
  let above: string;
  let data: string;
  let backups: string;
  let made: Backup;
  /** Tokens by the moments (ms) between which they were created, and between which they were revoked. */
  const created: { readonly token: string; readonly asked: number; readonly answered: number; revoked?: Asked }[] = [];
  interface Asked {
    readonly asked: number;
    readonly answered: number;
  }
  let restored: RunningServer;

  beforeAll(async () => {
    above = mkdtempSync(join(tmpdir(), "grove-backup-"));
    data = join(above, "data");
    backups = join(above, "backups");
    const server = await startServe({ data, env: SECRETS });
    let writing = true;
    const write = async (): Promise<void> => {
      while (writing) {
        const asked = Date.now();
        const { body } = await call(server, "POST", "/v1/auth/token/create-orphan", {
          token: server.rootToken,
          body: { ttl: "1h", policies: ["default"] },
        });
        const { client_token: token } = body.auth as { client_token: string };
        created.push({ token, asked, answered: Date.now() });
        const other = created[created.length - 20];
        if (!other || other.revoked || created.length % 3 !== 0) continue;
        const revocationAsked = Date.now();
        other.revoked = { asked: revocationAsked, answered: Number.POSITIVE_INFINITY };
        await call(server, "POST", "/v1/auth/token/revoke", { token: server.rootToken, body: { token: other.token } });
        other.revoked = { asked: revocationAsked, answered: Date.now() };
      }
    };
    const writers = [write(), write(), write(), write()];
    await backup(data, backups);
    await backup(data, backups);
    const have = (count: number) => vi.waitUntil(() => created.length >= count, { timeout: 90_000 });
    await have(40);
    made = await backup(data, backups);
    await have(created.length + 10);
    writing = false;
    await Promise.all(writers);
    await server.stop();
    cpSync(made.directory, join(above, "restored"), { recursive: true });
    restored = await startServe({ data: join(above, "restored"), env: SECRETS });
  });

  afterAll(async () => {
    await restored.stop();
    rmSync(above, { recursive: true, force: true });
  });

  it("has everything that was answered before its time, and nothing that was requested later", async () => {
    const at = Date.parse(made.at);
    let checked = 0;
    for (const { token, asked, answered, revoked } of created) {
      const isThere = answered < at && !(revoked && revoked.asked <= at);
      const isNot = asked > at || (revoked && revoked.answered < at);
      if (!isThere && !isNot) continue;
      const { status } = await call(restored, "GET", "/v1/auth/token/lookup-self", { token });
      expect([status, asked, answered, revoked, at]).toEqual([isThere ? 200 : 403, asked, answered, revoked, at]);
      checked++;
    }
    expect(checked).toBeGreaterThan(40);
  });

  it("delayed its clients for less than their timeout, and keeps the configured number of backups", () => {
    expect(made.pausedMs).toBeGreaterThan(0);
    expect(made.pausedMs).toBeLessThan(20_000);
    expect(readdirSync(backups)).toHaveLength(2);
  });

  it("has a digest of each of its files, which are compared", async () => {
    const words = [...wordsOf("backup"), "--verify", made.directory, "--json"];
    const { stdout } = await run(process.execPath, words);
    expect(JSON.parse(stdout)).toMatchObject({ databases: made.databases, warnings: [] });
    expect(JSON.parse(stdout).files).toBeGreaterThan(made.databases);
  });

  it("says which seal key it needs", () => expect(made.sealKeyVersion).toBe(1));

  it("is complete: no database is damaged, and no row refers to a missing token", () => {
    expect(findDamage(made.directory)).toEqual([]);
  });
});
