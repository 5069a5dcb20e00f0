import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Manifest } from "../../../scripts/backup/api/manifest.ts";
import { isOfAnother } from "../../../scripts/backup/newest.ts";
import { engineProblem } from "../../../scripts/local/workerd-program.ts";
import { parseUpgradeArguments } from "../../../scripts/upgrade/arguments.ts";
import { checkUpgrade, type Situation } from "../../../scripts/upgrade/upgrade-checks.ts";
import { backupName, timeOfBackup } from "../../../src/backup/names.ts";

const HOUR = 3_600_000;
const BACKUP = {
  name: backupName(100 * HOUR),
  at: 100 * HOUR,
  problem: null,
  sealKeyVersion: 1,
  keyRing: null,
  copy: null,
  isOfAnother: false,
};
const FIRST_KEY = `1:${Buffer.alloc(32).toString("base64")}`;
const SECOND_KEY = `2:${Buffer.alloc(32, 1).toString("base64")}`;
const FINE: Situation = {
  ours: "1.2.0",
  theirs: "1.1.3+fcd9c58a",
  engineProblem: null,
  address: "http://127.0.0.1:8200",
  sealed: false,
  backup: BACKUP,
  maxBackupAgeMs: 24 * HOUR,
  sealKey: FIRST_KEY,
  previousSealKey: undefined,
  dataBytes: 5_000_000,
  freeBytes: 6_000_000,
  now: 101 * HOUR,
};

/** What a server was asked for, as far as it says whose it is. */
function manifestOf(clusterId: string): Manifest {
  const times = { started_at: "2026", finished_at: "2026" };
  const head = { format: 1 as const, run: "1", parts: 0, ...times, release: "1.0.0", cluster_id: clusterId };
  return { ...head, seal_key_version: 1, key_ring: "r", seal: "s", files: [] };
}

const faults = async (change: Partial<Situation>) =>
  (await checkUpgrade({ ...FINE, ...change })).flatMap(({ about, isFault, text }) =>
    isFault ? [`${about}: ${text}`] : [],
  );

describe("an upgrade", () => {
  it("stops at an engine that is older than that of the release, and says how to install that", async () => {
    const needed = "1.20261117.1";
    for (const installed of [needed, "1.20261117.2", "1.20261201.0", "2.0.0"])
      expect(engineProblem(installed, needed)).toBeNull();
    for (const installed of ["1.20261117.0", "1.20261102.9", "0.20270101.1"])
      expect(engineProblem(installed, needed)).toMatch(/^workerd .* this release needs 1\.20261117\.1: npm pkg delete/);
    expect(await faults({ engineProblem: "old" })).toEqual(["engine: old"]);
  });

  it("continues when nothing is in the way", async () => expect(await faults({})).toEqual([]));

  it("continues while the seal key of the backup is the previous one, or is not known", async () => {
    expect(await faults({ sealKey: SECOND_KEY, previousSealKey: FIRST_KEY })).toEqual([]);
    expect(await faults({ sealKey: SECOND_KEY, backup: { ...BACKUP, sealKeyVersion: null } })).toEqual([]);
  });

  it("says of a copy of files whether its digests were compared", async () => {
    const said = async (copy: object) => {
      const noted = { at: "2026", version: "1.0.0", databases: 1, ...copy };
      const found = await checkUpgrade({ ...FINE, backup: { ...BACKUP, copy: noted } });
      return found.find(({ about }) => about === "backup");
    };
    expect(await said({ files: {} })).toMatchObject({ isFault: false, text: expect.stringMatching(/old and whole$/) });
    expect(await said({})).toMatchObject({ isFault: false, text: expect.stringContaining("has no digests") });
  });

  it.each<[string, Partial<Situation>, string]>([
    ["no server answers", { theirs: null }, "no server answers at http://127.0.0.1:8200"],
    ["the server has data of 0.x", { theirs: "0.2.0" }, "data of 0.x"],
    ["a minor version is left out", { theirs: "1.0.0" }, "leaves releases out"],
    ["a major version is left out", { ours: "2.0.0" }, "leaves releases out"],
    ["it is a way back", { ours: "1.0.0" }, "is a way back"],
    ["the server is sealed", { sealed: true }, "is sealed"],
    ["the seal key is not there", { sealKey: undefined }, "GROVE_SEAL_KEY is not in this environment"],
    ["the seal key is no key", { sealKey: "1:abc" }, "seal key: GROVE_SEAL_KEY must be <version>:"],
    ["the seal key is empty", { sealKey: "" }, "GROVE_SEAL_KEY is not in this environment"],
    ["the previous seal key is no key", { previousSealKey: "1:abc" }, "GROVE_SEAL_KEY_PREVIOUS must be <version>:"],
    ["there is no backup", { backup: null }, "there is none"],
    ["the backup is old", { backup: { ...BACKUP, at: 76 * HOUR } }, "25 hours old"],
    [
      "the backup is damaged",
      { backup: { ...BACKUP, problem: "part 1 is damaged" } },
      `the newest, ${BACKUP.name}, can't be restored: part 1 is damaged: npm run backup`,
    ],
    ["the backup is of another installation", { backup: { ...BACKUP, isOfAnother: true } }, "of another installation"],
    [
      "the backup needs a seal key that was rotated away",
      { sealKey: SECOND_KEY },
      `the newest, ${BACKUP.name}, needs seal key version 1, and the configured one has version 2: npm run backup`,
    ],
    [
      "the backup needs another seal key of the same version",
      { backup: { ...BACKUP, keyRing: "1.a.b" } },
      "needs a different seal key of version 1: the configured one does not open its key ring",
    ],
    ["the disk has too little room", { freeBytes: 4_000_000 }, "4 MB free"],
  ])("stops when %s", async (_, change, text) => {
    expect(await faults(change)).toEqual([expect.stringContaining(text)]);
  });

  it("knows whose a backup is: a copy by the id of its data, and what a server was asked for by the id of the cluster", () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-upgrade-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    for (const [name, id] of Object.entries({ data: "ours\n", copied: "ours", foreign: "theirs" })) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, "installation-id"), id);
    }
    const owner = { data: join(directory, "data"), clusterId: "ours" };
    const copy = { at: "2026", version: "1.0.0", databases: 1 };
    const ofCopy = (name: string) => isOfAnother(directory, { name, copy, manifest: null }, owner);
    expect([ofCopy("copied"), ofCopy("foreign")]).toEqual([false, true]);
    const ofCluster = (id: string, clusterId: string | null) =>
      isOfAnother(directory, { name: "asked", copy: null, manifest: manifestOf(id) }, { ...owner, clusterId });
    expect([ofCluster("ours", "ours"), ofCluster("theirs", "ours")]).toEqual([false, true]);
    // A server that does not answer is a fault of its own.
    expect(ofCluster("theirs", null)).toBe(false);
  });

  it.each([
    ["none of a server", "", "is no data directory of a server"],
    [
      "of a node of a cluster",
      "cluster-installation",
      "is of a node of a cluster: restart one node after the other (docs/cluster.md)",
    ],
  ])("is refused for a directory that is %s", (_, file, problem) => {
    const data = mkdtempSync(join(tmpdir(), "grove-upgraded-"));
    onTestFinished(() => rmSync(data, { recursive: true }));
    if (file !== "") writeFileSync(join(data, file), "c");
    const words = [join(import.meta.dirname, "../../../scripts/upgrade.ts"), "--data", data, "--backups", "b"];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 1, stderr: `upgrade: ${data} ${problem}\n` });
  });

  it("needs to know where the backups are", () => {
    expect(parseUpgradeArguments([], {})).toMatchObject({ ok: false });
    expect(parseUpgradeArguments(["--backups", "b"], {})).toMatchObject({
      value: { address: "http://127.0.0.1:8200" },
    });
  });

  it("knows the time of a backup by its name", () => {
    expect(timeOfBackup(backupName(1_790_000_000_123))).toBe(1_790_000_000_123);
    expect(timeOfBackup("something else")).toBeNull();
  });
});
