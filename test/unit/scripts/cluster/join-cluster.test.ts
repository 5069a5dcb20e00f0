import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DataDirectory } from "../../../../scripts/local/data-directory.ts";
import { joinCluster, NODE_FILE } from "../../../../scripts/serve/cluster/join-cluster.ts";
import { sealKey, startBucket } from "./support.ts";

function newData(): DataDirectory {
  const path = mkdtempSync(join(tmpdir(), "grove-node-"));
  const data = DataDirectory.open(path);
  if (!data.ok) throw new Error(data.error);
  onTestFinished(() => {
    data.value.close();
    rmSync(path, { recursive: true });
  });
  return data.value;
}

/** A node that joins; its pauses end at once. */
async function setUp() {
  const started = await startBucket();
  const lines: string[] = [];
  const pauses: number[] = [];
  const joining = {
    settings: started.settings,
    environment: { ...started.environment, GROVE_SEAL_KEY: sealKey() },
    data: newData(),
    asked: new Promise<void>(() => {}),
    pause: async (ms: number) => void pauses.push(ms),
    say: (line: string) => void lines.push(line),
  };
  return { ...started, joining, lines, pauses };
}

describe("a node that joins its cluster", () => {
  it("gets the installation's id, a directory of its own for workerd, and a key of this installation alone", async () => {
    const { joining } = await setUp();
    const one = await joinCluster(joining);
    const other = await joinCluster({ ...joining, data: newData() });
    expect(one).toMatchObject({ ok: true, value: { workerd: { bucket: "s3://grove/test/one/workerd" } } });
    expect(one.ok && other.ok && one.value.workerd).toEqual(other.ok && other.value.workerd);
    expect(one.ok && one.value.workerd.key).not.toContain(joining.settings.key);
    const elsewhere = await joinCluster({
      ...joining,
      data: newData(),
      settings: { ...joining.settings, prefix: "test/two" },
    });
    expect(elsewhere.ok && elsewhere.value.workerd.key).not.toBe(one.ok && one.value.workerd.key);
  });

  it("tries again while the bucket is out of reach, with longer and longer pauses, and says so", async () => {
    const { joining, emulator, lines, pauses } = await setUp();
    emulator.fault = () => (pauses.length < 3 ? "cut" : undefined);
    expect((await joinCluster(joining)).ok).toBe(true);
    expect(pauses).toEqual([500, 1000, 2000]);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/out of reach.*tried again in 0.5 s/);
  });

  it.each(["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"])(
    "ends where %s can't be sent, and does not repeat it",
    async (name) => {
      const { joining, lines } = await setUp();
      for (const text of ["a-secret\nx", "\u201ca-secret\u201d"]) {
        const environment = { ...joining.environment, [name]: text };
        expect(await joinCluster({ ...joining, data: newData(), environment })).toEqual({
          ok: false,
          error: expect.stringContaining(`${name} has characters that no credential has`),
        });
      }
      expect(lines.join()).not.toContain("secret");
    },
  );

  it("ends when it is stopped during the join", async () => {
    const { joining, emulator } = await setUp();
    emulator.fault = () => "cut";
    const pause = () => new Promise<void>(() => {});
    expect(await joinCluster({ ...joining, pause, asked: Promise.resolve() })).toEqual({
      ok: false,
      error: "asked to stop",
    });
  });

  it("ends at once when the bucket breaks a promise", async () => {
    const { joining, emulator, pauses } = await setUp();
    emulator.quirks = { ignoresIfMatch: true };
    expect(await joinCluster(joining)).toEqual({ ok: false, error: expect.stringContaining('"conditional replace"') });
    expect(pauses).toEqual([]);
  });

  it("refuses data of a server that is one process, and explains the way", async () => {
    const { joining, emulator } = await setUp();
    joining.data.write("installation-id", "0123\n");
    expect(await joinCluster(joining)).toEqual({ ok: false, error: expect.stringContaining("backup and a restore") });
    expect(emulator.requests).toEqual([]);
  });

  it("refuses data of a node of another installation", async () => {
    const { joining } = await setUp();
    joining.data.write(NODE_FILE, "another\n");
    expect(await joinCluster(joining)).toEqual({ ok: false, error: expect.stringContaining("another installation") });
  });

  it("needs the seal key", async () => {
    const { joining, environment } = await setUp();
    expect(await joinCluster({ ...joining, environment })).toEqual({
      ok: false,
      error: expect.stringContaining("GROVE_SEAL_KEY is not set"),
    });
  });
});
