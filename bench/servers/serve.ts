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
import { type ProcessFigures, processFigures } from "../../scripts/serve/metrics.ts";
import type { Client } from "./client.ts";

/** What a process has used of the machine: seconds of CPU of all its threads, and bytes of resident memory. */
export type Usage = Pick<ProcessFigures, "cpuSeconds" | "residentBytes">;

/** That of a process that there is not. */
export const NO_USAGE: Usage = { cpuSeconds: 0, residentBytes: 0 };

/** What is killed. */
export type KillTarget = "workerd" | "serve" | "both";

/** What all servers on the same data share. Secrets. */
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

/** How a server is started; everything has a default. */
export interface ServeOptions {
  /** The script of package.json that starts it; default: `serve`. Of `dev`, the data are its own. */
  readonly script?: "serve" | "dev";
  /** Further words of its command line. Unless they say otherwise it has a free port, and may call this machine. */
  readonly flags?: readonly string[];
  /** Settings of the Worker. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with each line of both outputs. Default: the log goes to /dev/null, which costs no disk. */
  readonly onLine?: (line: string) => void;
}

/** The longest start on a busy machine: a build, the runtime, the first request (ms). */
const START_MS = 90_000;

/** `npm run serve` or `npm run dev` (without npm) on a data directory: workerd, and the process with the gateway in front of it. */
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

  /** Starts the server and waits until it answers. */
  static async start(
    data: string,
    secrets: Secrets,
    { script = "serve", flags = [], settings, onLine }: ServeOptions = {},
  ): Promise<ServeProcess> {
    const isDev = script === "dev";
    const own = isDev ? ["--port=0", "--root-token", secrets.GROVE_DEV_ROOT_TOKEN] : ["--listen=127.0.0.1:0"];
    // The arguments of `node` in package.json, so that the measured server is the one that users start.
    const words = project.scripts[script].split(" ").slice(1);
    words.push(...own, "--data", data, "--allow-private-host=127.0.0.0/8", ...flags);
    const child = spawn(process.execPath, words, {
      cwd: PROJECT,
      // Else a Worker that is developed on this machine would find this one.
      env: { ...process.env, ...settings, ...secrets, WRANGLER_REGISTRY_PATH: join(data, "registry") },
      stdio: ["ignore", onLine || isDev ? "pipe" : "ignore", "pipe"],
    });
    // Also when this process ends by a fault of its own.
    const stop = (): void => void child.kill("SIGTERM");
    process.once("exit", stop);
    child.once("exit", () => process.off("exit", stop));
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on("line", (line) => {
        if (isDev || stream === child.stderr) said.push(line);
        onLine?.(line);
      });
    }
    for (const end = performance.now() + START_MS; performance.now() < end && isRunning(child); await pause(20)) {
      const url = /Grove listens on (http:\S+)/.exec(said.join("\n"))?.[1];
      const workerd = descendantsOf(child.pid ?? 0).find((pid) => nameOf(pid) === "workerd");
      if (url && workerd) return new ServeProcess(child, workerd, url, secrets.GROVE_DEV_ROOT_TOKEN);
    }
    child.kill("SIGKILL");
    throw new Error(`the server does not start:\n${said.join("\n")}`);
  }

  /** What its two processes have used so far. */
  usage(): { readonly worker: Usage; readonly gateway: Usage } {
    return { worker: usageOf(this.#workerd), gateway: usageOf(this.#child.pid ?? 0) };
  }

  /** Kills it with SIGKILL and waits until nothing of it is left. */
  async kill(victim: KillTarget): Promise<void> {
    if (victim !== "serve") process.kill(this.#workerd, "SIGKILL");
    if (victim !== "workerd") this.#child.kill("SIGKILL");
    await this.#end();
    while (nameOf(this.#workerd) === "workerd") await pause(10);
  }

  /** Asks it to end; what it has answered is on disk. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#end();
  }

  async #end(): Promise<void> {
    if (isRunning(this.#child)) await once(this.#child, "exit");
  }
}

/** Makes an empty directory that is removed when this process exits. Without `above` it is a temporary one of the system. */
export function passingDirectory(name: string, above = ""): string {
  const parent = resolve(above || tmpdir());
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, `grove-${name}-`));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const TMPFS = "/dev/shm";

/** Gives `work` a server whose data are on a tmpfs, where nothing waits for the disk; null where the system has none. */
export async function withTmpfsServer<T>(work: (server: ServeProcess | null) => Promise<T>): Promise<T> {
  if (!existsSync(TMPFS)) return work(null);
  const data = passingDirectory("bench", TMPFS);
  const server = await ServeProcess.start(data, newSecrets());
  try {
    return await work(server);
  } finally {
    await server.stop();
    // What is left there takes memory.
    rmSync(data, { recursive: true });
  }
}

/** Zeros for a process that is not there, and on systems without /proc. */
export function usageOf(pid: number): Usage {
  return processFigures(pid) ?? NO_USAGE;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** The processes that a process started, and those that these started. */
function descendantsOf(pid: number): number[] {
  const children = readProcess(pid, `task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** The name of a running program; "" when it has ended. */
function nameOf(pid: number): string {
  const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(readProcess(pid, "stat")) ?? [];
  return state === "Z" ? "" : (name ?? "");
}

/** A file of /proc; "" of a process that is not there. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
