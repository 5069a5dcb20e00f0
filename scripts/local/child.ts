import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

/** How long a child may take to end after it is asked to. */
const STOP_MS = 8_000;

/** How to start a child. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** `pipe`: all output is read here; `errors`: standard error is read here, standard output is that of this process. */
  readonly output: "pipe" | "errors";
}

/** A long-running program that ends with this process, however this process ends. */
export class Child {
  /** Resolves when the program has ended, with how it did: `exit code 1`, `SIGKILL`, or why it could not be started. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  #running = true;

  constructor({ command, args, env, output }: ChildOptions) {
    // A process group of its own: Ctrl-C reaches only this process, which then stops everything in order.
    this.#process = spawn(command, args, {
      env,
      stdio: ["ignore", output === "pipe" ? "pipe" : "inherit", "pipe"],
      detached: true,
    });
    const guard = this.#process.pid === undefined ? undefined : guardGroup(this.#process.pid);
    this.ended = new Promise((resolve) => {
      this.#process.once("error", (error) => resolve(error.message));
      // With `errors` the last words of the program are read first. With `pipe` a grandchild may hold the output open.
      this.#process.once(output === "errors" ? "close" : "exit", (code, signal) =>
        resolve(signal ?? `exit code ${code}`),
      );
    });
    void this.ended.then(() => {
      this.#running = false;
      this.#signalGroup("SIGKILL");
      guard?.kill("SIGKILL");
    });
  }

  /** Its process id; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** What the program writes and is read here. */
  get streams(): Readable[] {
    return [this.#process.stdout, this.#process.stderr].filter((stream) => stream !== null);
  }

  /** Sends a signal to the program, if it runs. */
  signal(signal: NodeJS.Signals): void {
    if (this.#running) this.#process.kill(signal);
  }

  /** Asks the program to end, and makes it after a while. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#process.kill("SIGTERM");
    const force = setTimeout(() => this.#signalGroup("SIGKILL"), STOP_MS);
    await this.ended;
    clearTimeout(force);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#process.pid === undefined) return;
    try {
      process.kill(-this.#process.pid, signal);
    } catch {
      // No process is left in the group, which is what was wanted.
    }
  }
}

/**
 * A shell that waits for this process to go away and then kills the group. Without it a killed parent would leave the
 * server running on its data with no gateway in front, and the next start would open the same data a second time.
 */
function guardGroup(group: number): ChildProcess {
  const script = 'read -r _; kill -s KILL -- "-$0"';
  const guard = spawn("/bin/sh", ["-c", script, String(group)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  guard.on("error", () => {});
  return guard;
}
