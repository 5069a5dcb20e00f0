import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Gateway } from "../../../gateway/server.ts";
import { Child } from "../../../scripts/local/child.ts";
import { runServer } from "../../../scripts/local/run-server.ts";
import { ok } from "../../../src/base/result.ts";

/** A gateway of which only the stop is used. */
function gatewayThatStops(stop: () => Promise<void>): Gateway {
  const figures = { connections: 0, requests: 0, bodyBytes: 0, answerBytes: 0, refusals: new Map() };
  return { port: 0, figures: () => figures, suspend: () => {}, stop };
}

/** Runs a server that is asked to stop at once; its child ignores SIGTERM. */
async function run(stopGateway: () => Promise<void>, hardEndMs: number) {
  const directory = mkdtempSync(join(tmpdir(), "grove-run-server-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const trapIsSet = join(directory, "trap-is-set");
  const child = new Child({
    command: "/bin/sh",
    args: ["-c", 'trap "" TERM; : > "$1"; while :; do sleep 1; done', "sh", trapIsSet],
    env: process.env,
    output: "errors",
  });
  const lines: string[] = [];
  let closed = 0;
  const server = {
    childName: "the Worker",
    start: async () => {
      await vi.waitUntil(() => existsSync(trapIsSet), { timeout: 60_000 });
      return ok({ gateway: gatewayThatStops(stopGateway), child, close: () => void closed++ });
    },
    announce: () => {},
    say: (line: string) => void lines.push(line),
  };
  const code = await runServer(server, Promise.resolve(), hardEndMs);
  return { code, lines, closed, ended: await child.ended };
}

describe("a server that is asked to stop", () => {
  it("ends although its gateway does not, and its child ignores the signal", async () => {
    const { code, lines, closed, ended } = await run(() => new Promise(() => {}), 100);
    expect([code, closed, ended]).toEqual([0, 1, "SIGKILL"]);
    expect(lines).toEqual(["not everything has ended in time; the Worker is killed"]);
  });

  it("gives the gateway the time that it needs, and kills a child that ignores the signal", async () => {
    const { code, lines, closed, ended } = await run(() => Promise.resolve(), 60_000);
    expect([code, closed, ended, lines]).toEqual([0, 1, "SIGKILL", []]);
  });
});
