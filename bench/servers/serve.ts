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
import { type ProcessFigures, processFigures } from "../../scripts/serve/metrics-page.ts";
import type { Client } from "./client.ts";

/** CPU time of all threads of a process (s) and its resident memory (bytes). */
export type Usage = Pick<ProcessFigures, "cpuSeconds" | "residentBytes">;

/** The usage of a process that does not exist. */
export const NO_USAGE: Usage = { cpuSeconds: 0, residentBytes: 0 };

/** The processes to kill. */
export type KillTarget = "workerd" | "serve" | "both";

/** Secrets that belong to a data directory. */
export interface Secrets {
  readonly GROVE_SEAL_KEY: string;
  readonly GROVE_DEV_ROOT_TOKEN: string;
}

/** Generates the secrets of a new installation. */
export function newSecrets(): Secrets {
  return {
    GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
    GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
  };
}

/** Options of a start. All have defaults. */
export interface ServeOptions {
  /** The script of package.json to start (default `serve`). Each has its own layout of the data directory. */
  readonly script?: "serve" | "dev";
  /** Additional command-line options. By default the server uses a free port and may call loopback addresses. */
  readonly flags?: readonly string[];
  /** Settings of the Worker, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The checkout to run (default: this one). */
  readonly checkout?: string;
  /** Called with each line of stdout and stderr. Absent: stdout, which has the log, goes to /dev/null. */
  readonly onLine?: (line: string) => void;
}

/** Time limit of a start (ms). A start includes the build, the runtime and the first request. */
const START_MS = 90_000;

/** A server started as `npm run serve` or `npm run dev` starts it, but without npm: workerd and the gateway process. */
export class ServeProcess implements Client {
  readonly url: string;
  /** The root token. */
  readonly token: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, token: string) {
    this.#child = child;
    this.url = url;
    this.token = token;
  }

  /** Starts the server and waits until it answers. */
  static async start(
    data: string,
    secrets: Secrets,
    { script = "serve", flags = [], settings, checkout = PROJECT, onLine }: ServeOptions = {},
  ): Promise<ServeProcess> {
    const isDev = script === "dev";
    const own = isDev ? ["--port=0", "--root-token", secrets.GROVE_DEV_ROOT_TOKEN] : ["--listen=127.0.0.1:0"];
    // Take the arguments of `node` from package.json, so that the server runs exactly as users run it.
    const words = project.scripts[script].split(" ").slice(1);
    words.push(...own, "--data", data, "--allow-private-host=127.0.0.0/8", ...flags);
    const child = spawn(process.execPath, words, {
      cwd: checkout,
      // A separate registry hides this Worker from other local development sessions.
      env: { ...process.env, ...settings, ...secrets, WRANGLER_REGISTRY_PATH: join(data, "registry") },
      stdio: ["ignore", onLine || isDev ? "pipe" : "ignore", "pipe"],
    });
    // Stop the server also when this process exits because of an error.
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
      const url = /Grove listens on (http:[^\s,]+)/.exec(said.join("\n"))?.[1];
      const workerd = descendantsOf(child.pid ?? 0).find((pid) => nameOf(pid) === "workerd");
      if (url && workerd) return new ServeProcess(child, url, secrets.GROVE_DEV_ROOT_TOKEN);
    }
    child.kill("SIGKILL");
    throw new Error(`the server does not start:\n${said.join("\n")}`);
  }

  /** The process id of workerd; 0 while a node has not restarted it. */
  get #workerd(): number {
    return descendantsOf(this.#child.pid ?? 0).find((pid) => nameOf(pid) === "workerd") ?? 0;
  }

  /** The usage of both processes since their start. */
  usage(): { readonly worker: Usage; readonly gateway: Usage } {
    return { worker: usageOf(this.#workerd), gateway: usageOf(this.#child.pid ?? 0) };
  }

  /** Kills the server with SIGKILL and waits until all its processes have ended. */
  async kill(victim: KillTarget): Promise<void> {
    const below = descendantsOf(this.#child.pid ?? 0);
    const workerd = this.#workerd;
    // `npm run dev` also has the process of Wrangler between them.
    if (victim === "both") for (const pid of below) killIfThere(pid);
    if (victim === "workerd" && workerd > 0) process.kill(workerd, "SIGKILL");
    if (victim !== "workerd") this.#child.kill("SIGKILL");
    await this.#end();
    for (const pid of below) while (nameOf(pid) !== "") await pause(10);
  }

  /** Kills only workerd, which a node restarts. */
  crashWorker(): void {
    const workerd = this.#workerd;
    if (workerd > 0) process.kill(workerd, "SIGKILL");
  }

  /** Suspends all processes of the server (SIGSTOP), like a pause of its machine. @param ms duration. */
  async sleep(ms: number): Promise<void> {
    const pid = this.#child.pid ?? 0;
    const all = [pid, ...descendantsOf(pid)];
    for (const one of all) process.kill(one, "SIGSTOP");
    await pause(ms);
    for (const one of all) process.kill(one, "SIGCONT");
  }

  /** Stops the server with SIGTERM and waits until it has ended. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#end();
  }

  async #end(): Promise<void> {
    if (isRunning(this.#child)) await once(this.#child, "exit");
  }
}

/** Creates a directory, by default in the system's temporary directory. It is deleted when this process exits. */
export function temporaryDirectory(name: string, above = ""): string {
  const parent = resolve(above || tmpdir());
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, `grove-${name}-`));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const TMPFS = "/dev/shm";

/** Runs `work` with a server whose data are on a tmpfs, which removes disk latency; with null if there is no tmpfs. */
export async function withTmpfsServer<T>(work: (server: ServeProcess | null) => Promise<T>): Promise<T> {
  if (!existsSync(TMPFS)) return work(null);
  const data = temporaryDirectory("bench", TMPFS);
  const server = await ServeProcess.start(data, newSecrets());
  try {
    return await work(server);
  } finally {
    await server.stop();
    // Files on a tmpfs occupy memory.
    rmSync(data, { recursive: true });
  }
}

/** The usage of a process; zeros if it does not exist or the system has no /proc. */
export function usageOf(pid: number): Usage {
  return processFigures(pid) ?? NO_USAGE;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** Process IDs of all descendants. */
function descendantsOf(pid: number): number[] {
  const children = readProcess(pid, `task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return [...children, ...children.flatMap(descendantsOf)];
}

/** The command name of a process; "" if it has ended or is a zombie. */
function nameOf(pid: number): string {
  const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(readProcess(pid, "stat")) ?? [];
  return state === "Z" ? "" : (name ?? "");
}

/** A file in the process's directory of /proc; "" if the process does not exist. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}
