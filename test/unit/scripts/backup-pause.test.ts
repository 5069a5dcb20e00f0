import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PAUSE_WORDS, Pauses, RunningServer } from "../../../scripts/serve/backup-pause.ts";

let directory: string;
let path: string;
let program: ChildProcess;
let pauses: Pauses | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "grove-pause-"));
  path = join(directory, "pause.sock");
  program = spawn("sleep", ["600"]);
});

afterEach(() => {
  pauses?.close();
  program.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
});

const open = (maxPauseMs?: number, pid = program.pid) => {
  pauses = new Pauses({ pid, signal: (name) => void program.kill(name) }, path, maxPauseMs);
};
const isHeld = () => readFileSync(`/proc/${program.pid}/stat`, "utf8").split(") ").at(-1)?.[0] === "T";
const find = async (): Promise<RunningServer> => {
  const server = await vi.waitFor(() => RunningServer.find(path), 60_000);
  if (!server) throw new Error("it does not listen yet");
  return server;
};
/** A backup that asked for a pause and got it. */
const holder = async (): Promise<Socket> => {
  (await find()).close();
  const socket = connect(path);
  socket.write(PAUSE_WORDS.pause);
  await once(socket, "data");
  return socket;
};

describe.runIf(process.platform === "linux")("a pause of the server's process", () => {
  it("lasts for as long as the work of a backup", async () => {
    open();
    const server = await find();
    expect(await server.whilePaused(isHeld)).toEqual({ ok: true, value: true });
    expect(isHeld()).toBe(false);
  });

  it("is waited for without a look where the system shows no threads", async () => {
    open(undefined, 2 ** 30);
    expect(await (await find()).whilePaused(isHeld)).toEqual({ ok: true, value: true });
  });

  it("ends when the backup dies", async () => {
    open();
    const socket = await holder();
    expect(isHeld()).toBe(true);
    socket.destroy();
    await vi.waitFor(() => expect(isHeld()).toBe(false), 60_000);
  });

  it("ends by itself after a time limit, and then the backup learns that its copy is not valid", async () => {
    open(50);
    const server = await find();
    const held = await server.whilePaused(() => {
      // Waits for nothing but the clock: the server's own process is this one here.
      for (const until = performance.now() + 60; performance.now() < until; );
    });
    expect(held).toMatchObject({ ok: false });
    await vi.waitFor(() => expect(isHeld()).toBe(false), 60_000);
  });

  it("is for one backup at a time", async () => {
    open();
    const socket = await holder();
    expect(await (await find()).whilePaused(() => null)).toMatchObject({ ok: false });
    expect(isHeld()).toBe(true);
    socket.destroy();
    await vi.waitFor(() => expect(isHeld()).toBe(false), 60_000);
  });

  it("ends when the server is stopped", async () => {
    open();
    await holder();
    pauses?.close();
    await vi.waitFor(() => expect(isHeld()).toBe(false), 60_000);
    expect(await RunningServer.find(path)).toBeUndefined();
  });
});
