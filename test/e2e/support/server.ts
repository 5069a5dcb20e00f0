import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, vi } from "vitest";
import { BUSY } from "../../../gateway/refusal.ts";

/** Where the project is. */
export const PROJECT = join(import.meta.dirname, "../../..");

/** Longest start on a busy machine: a build, the runtime, the first request. */
const START_MS = 180_000;

/** How a test wants its server. */
export interface ServerOptions {
  /** Data of an earlier server, which the test removes itself. A new directory otherwise, removed by `stop`. */
  readonly data?: string;
  /** Settings of the Worker, and whatever else the environment should have. */
  readonly env?: Readonly<Record<string, string>>;
  /** A copy of the project to start, when it is not the project itself. */
  readonly project?: string;
  /** Further words of the command line. */
  readonly flags?: readonly string[];
}

/** A program that the test started. */
export interface Program {
  readonly child: ChildProcess;
  /** Everything that it has written so far, standard output and error together. */
  output(): string;
  /** Resolves to its exit code when it has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

/** A Grove server on a free port, with data of its own. */
export interface RunningServer extends Program {
  /** As in `VAULT_ADDR`. */
  readonly address: string;
  readonly rootToken: string;
  readonly data: string;
  /** Asks it to stop, waits for the end, and removes its data. Resolves to the exit code. */
  stop(): Promise<number | null>;
}

/** The words with which Node runs a script as `npm run` does. */
export function wordsOf(script: "dev" | "serve" | "grove" | "backup", project = PROJECT): string[] {
  const program = join(project, "scripts", `${script}.ts`);
  return script === "dev" ? [program] : [join(project, "scripts/bundled.js"), program];
}

/** Runs `npm run dev` or `npm run serve` (without npm) and collects what it writes. */
export function runScript(
  script: "dev" | "serve",
  flags: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  project = PROJECT,
): Program {
  const child = spawn(process.execPath, [...wordsOf(script, project), ...flags], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      written += text;
    });
  }
  const kill = (): void => {
    child.kill("SIGTERM");
  };
  process.once("exit", kill);
  const exited = once(child, "close").then(([code]) => {
    process.off("exit", kill);
    return code as number | null;
  });
  return { child, output: () => written, exited };
}

/** Starts `npm run dev`. */
export function startDev(options: ServerOptions = {}): Promise<RunningServer> {
  return start(options, async (data) => ({
    program: runScript(
      "dev",
      ["--port=0", "--data", data, ...(options.flags ?? [])],
      {
        // Else a Worker that somebody develops on this machine would find the server of a test.
        WRANGLER_REGISTRY_PATH: join(data, "registry"),
        ...options.env,
      },
      options.project,
    ),
    rootToken: () => readFile(join(data, "root-token"), "utf8").then((text) => text.trim()),
  }));
}

/**
 * Starts `npm run serve`, with keys and a root token of its own unless `env` has them. A test that starts a second server
 * on the same data passes `GROVE_SEAL_KEY` and `GROVE_DEV_ROOT_TOKEN` both times.
 */
export function startServe(options: ServerOptions = {}): Promise<RunningServer> {
  const env = {
    GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
    GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
    ...options.env,
  };
  return start(options, async (data) => ({
    program: runScript("serve", ["--listen=127.0.0.1:0", "--data", data, ...(options.flags ?? [])], env),
    rootToken: async () => env.GROVE_DEV_ROOT_TOKEN,
  }));
}

/**
 * Sends a request to a server, with any method, LIST included. Bodies are JSON; an empty answer reads as `{}`. A request that has waited
 * for its turn at the gateway for too long was not sent to the service and is sent again, as clients of the API do.
 */
export async function call(
  server: Pick<RunningServer, "address">,
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown; readonly contentType?: string } = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const { token, body, contentType } = options;
  const response = await fetch(`${server.address}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { "X-Vault-Token": token }),
      ...(contentType !== undefined && { "Content-Type": contentType }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (text.includes(BUSY.message)) {
    await pause(1000 * BUSY.retryAfterSeconds);
    return call(server, method, path, options);
  }
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

/** The programs that a process started, and those that these started, as process ids. */
export async function descendants(pid: number): Promise<number[]> {
  const processes = await processTable();
  const found = [pid];
  for (const parent of found) found.push(...processes.filter((one) => one.parent === parent).map((one) => one.pid));
  return found.slice(1);
}

/**
 * Those of the processes that still run; one that has ended and only waits to be collected does not. Poll it: one that was
 * killed takes a moment to go.
 */
export async function stillRunning(pids: readonly number[]): Promise<number[]> {
  const running = (await processTable()).filter((one) => !one.state.startsWith("Z"));
  return pids.filter((pid) => running.some((one) => one.pid === pid));
}

/** Sends a signal to processes. One may be gone already: what the signal did to the one before it can have ended it. */
export function signalAll(pids: readonly number[], signal: "SIGKILL" | "SIGCONT"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}

/** Kills a server with everything that it started, and waits until nothing of it runs. */
export async function killWhole(server: Pick<RunningServer, "child">): Promise<void> {
  const pid = server.child.pid ?? 0;
  const programs = [...(await descendants(pid)), pid];
  signalAll(programs, "SIGKILL");
  // `expect.poll` is for tests alone.
  await vi.waitFor(async () => expect(await stillRunning(programs)).toEqual([]), 60_000);
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

async function processTable(): Promise<ProcessRow[]> {
  if (!existsSync("/proc/self/stat")) return processTableOfPs();
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")));
  return stats.flatMap((stat) => {
    // The name of the program, in parentheses, may hold anything.
    const [, pid, state, parent] = /^(\d+) \(.*\) (\S) (\d+) /s.exec(stat) ?? [];
    return state === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), state }];
  });
}

async function processTableOfPs(): Promise<ProcessRow[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,stat="]);
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return state === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), state }];
  });
}

interface Launch {
  readonly program: Program;
  readonly rootToken: () => Promise<string>;
}

async function start(options: ServerOptions, launch: (data: string) => Promise<Launch>): Promise<RunningServer> {
  const data = options.data ?? (await mkdtemp(join(tmpdir(), "grove-e2e-")));
  const forget = async (): Promise<void> => {
    if (options.data === undefined) await rm(data, { recursive: true, force: true });
  };
  const { program, rootToken } = await launch(data);
  const address = await listeningAddress(program);
  if (address === undefined) {
    program.child.kill("SIGTERM");
    await program.exited;
    await forget();
    throw new Error(`the server did not start:\n${program.output()}`);
  }
  return {
    ...program,
    address,
    rootToken: await rootToken(),
    data,
    async stop() {
      program.child.kill("SIGTERM");
      const code = await program.exited;
      await forget();
      return code;
    },
  };
}

/** The address that a server says it listens on; undefined when it ends without, or takes too long. */
async function listeningAddress(program: Program): Promise<string | undefined> {
  const found = (): string | undefined => /Grove listens on (http:\/\/[^\s,]+)/.exec(program.output())?.[1];
  const given = Promise.withResolvers<undefined>();
  const limit = setTimeout(() => given.resolve(undefined), START_MS);
  const listening = new Promise<void>((resolve) => {
    for (const stream of [program.child.stdout, program.child.stderr]) {
      stream?.on("data", () => {
        if (found() !== undefined) resolve();
      });
    }
  });
  await Promise.race([listening, program.exited, given.promise]);
  clearTimeout(limit);
  return found();
}
