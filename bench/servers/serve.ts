import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import project from "../../package.json" with { type: "json" };
import { PROJECT } from "../../scripts/local/worker-definition.ts";
import { type ProcessFigures, processFigures } from "../../scripts/serve/process-figures.ts";
import type { Client } from "./client.ts";

/** What a process has used: CPU of all its threads (s), and resident memory (bytes). */
export type Usage = Pick<ProcessFigures, "cpuSeconds" | "residentBytes">;

/** Usage of a server without that process. */
export const NO_USAGE: Usage = { cpuSeconds: 0, residentBytes: 0 };

/** Which processes of a server are killed. */
export type KillTarget = "workerd" | "serve" | "both";

/** Secrets of an installation, the same for every server on its data. */
export interface Secrets {
  readonly GROVE_SEAL_KEY: string;
  readonly GROVE_DEV_ROOT_TOKEN: string;
}

/** Secrets of a new installation. */
export function newSecrets(): Secrets {
  return {
    GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
    GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
  };
}

/** The longest start on a busy machine: a build, the runtime, the first request (ms). */
const START_MS = 90_000;

/** `npm run serve` (without npm) on a data directory: workerd, and the process with the gateway in front of it. */
export class ServeProcess implements Client {
  readonly url: string;
  /** The root token. */
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #workerd: number;

  private constructor(child: ChildProcess, workerd: number, url: string, token: string) {
    this.#child = child;
    this.#workerd = workerd;
    this.url = url;
    this.token = token;
  }

  /** Starts the server and waits until it answers. It may call this machine. `listen` is HOST:PORT, or a free port without it. */
  static async start(data: string, secrets: Secrets, listen = "127.0.0.1:0"): Promise<ServeProcess> {
    // The arguments of `node` in package.json: the measured server is the one that users start.
    const words = project.scripts.serve.split(" ").slice(1);
    words.push("--listen", listen, "--data", data, "--allow-private-host=127.0.0.0/8");
    const child = spawn(process.execPath, words, {
      cwd: PROJECT,
      env: { ...process.env, ...secrets },
      // The log goes to /dev/null, which costs no disk.
      stdio: ["ignore", "ignore", "pipe"],
    });
    // Also stops the server when this process ends by an exception.
    const stop = (): void => void child.kill("SIGTERM");
    process.once("exit", stop);
    child.once("exit", () => process.off("exit", stop));
    const said: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => said.push(line));
    for (const end = performance.now() + START_MS; performance.now() < end && isRunning(child); await pause(20)) {
      const url = /Grove listens on (http:\S+)/.exec(said.join("\n"))?.[1];
      const workerd = descendantsOf(child.pid ?? 0).find((pid) => nameOf(pid) === "workerd");
      if (url && workerd) return new ServeProcess(child, workerd, url, secrets.GROVE_DEV_ROOT_TOKEN);
    }
    child.kill("SIGKILL");
    throw new Error(`the server does not start:\n${said.join("\n")}`);
  }

  /** What its two processes have used since their start. */
  usage(): { readonly worker: Usage; readonly gateway: Usage } {
    return { worker: usageOf(this.#workerd), gateway: usageOf(this.#child.pid ?? 0) };
  }

  /** Kills processes with SIGKILL and waits until both have ended. */
  async kill(victim: KillTarget): Promise<void> {
    if (victim !== "serve") process.kill(this.#workerd, "SIGKILL");
    if (victim !== "workerd") this.#child.kill("SIGKILL");
    await this.#end();
    while (nameOf(this.#workerd) === "workerd") await pause(10);
  }

  /** Stops the server with SIGTERM. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#end();
  }

  async #end(): Promise<void> {
    if (isRunning(this.#child)) await once(this.#child, "exit");
  }
}

/** Makes an empty directory that is removed when this process exits. `above` is "" for the system's temporary directory. */
export function passingDirectory(name: string, above = ""): string {
  const parent = resolve(above || tmpdir());
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, `grove-${name}-`));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const TMPFS = "/dev/shm";

/** Gives `work` a server whose data are on a tmpfs, without waits for a disk; null on a system without one. */
export async function withTmpfsServer<T>(work: (server: ServeProcess | null) => Promise<T>): Promise<T> {
  if (!existsSync(TMPFS)) return work(null);
  const data = passingDirectory("bench", TMPFS);
  const server = await ServeProcess.start(data, newSecrets());
  try {
    return await work(server);
  } finally {
    await server.stop();
    // A tmpfs takes memory.
    rmSync(data, { recursive: true });
  }
}

/** Usage of a process; zeros for one that has ended, and on systems without /proc. */
export function usageOf(pid: number): Usage {
  return processFigures(pid) ?? NO_USAGE;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Process ids of all descendants. */
function descendantsOf(pid: number): number[] {
  const children = readProcess(pid, `task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** The name of a running process; "" when it has ended. */
function nameOf(pid: number): string {
  const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(readProcess(pid, "stat")) ?? [];
  return state === "Z" ? "" : (name ?? "");
}

/** A file of /proc; "" when the process has ended. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
