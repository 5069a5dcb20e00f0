import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** Time to end after SIGTERM (ms). A Worker without requests needs half a second; a busy one may not read the signal. */
const STOP_MS = 4_000;

/** How to start a child. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** `pipe`: all output is read here; `errors`: standard error is read here, standard output is that of this process. */
  readonly output: "pipe" | "errors";
}

/** A long-running program that ends with this process, even when this process is killed. */
export class Child {
  /** Resolves at the end of the program, with the cause: `exit code 1`, `SIGKILL`, or why it could not be started. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  #running = true;

  constructor({ command, args, env, output }: ChildOptions) {
    // In a process group of its own: Ctrl-C reaches only this process, which stops everything in order.
    this.#process = spawn(command, args, {
      env,
      stdio: ["ignore", output === "pipe" ? "pipe" : "inherit", "pipe"],
      detached: true,
    });
    const guard = this.#process.pid === undefined ? undefined : guardGroup(this.#process.pid);
    this.ended = new Promise((resolve) => {
      this.#process.once("error", (error) => resolve(error.message));
      // `errors`: the output is read to its end first. `pipe`: a grandchild may hold the output open.
      this.#process.once(output === "errors" ? "close" : "exit", (code, signal) =>
        resolve(signal ?? `exit code ${code}`),
      );
    });
    void this.ended.then(() => {
      this.#running = false;
      this.kill();
      guard?.kill("SIGKILL");
    });
  }

  /** undefined when the program could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The outputs of the program that this process reads. */
  get streams(): Readable[] {
    return [this.#process.stdout, this.#process.stderr].filter((stream) => stream !== null);
  }

  /** Sends a signal to the program, if it runs. */
  signal(signal: NodeJS.Signals): void {
    if (this.#running) this.#process.kill(signal);
  }

  /** Sends SIGTERM, and SIGKILL to the group after STOP_MS. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#process.kill("SIGTERM");
    const force = setTimeout(() => this.kill(), STOP_MS);
    await this.ended;
    clearTimeout(force);
  }

  /** Sends SIGKILL to the group. */
  kill(): void {
    this.#signalGroup("SIGKILL");
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#process.pid === undefined) return;
    try {
      process.kill(-this.#process.pid, signal);
    } catch {
      // The group has ended already.
    }
  }
}

/**
 * A shell that kills the group when this process has ended. Without it a killed parent would leave the Worker running, and the next start
 * would open the same data a second time.
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

/** A stack trace that workerd adds to each network error: addresses in the program. In a stack trace of a crash they begin with 0x. */
const STACK = /^\s*stack: \S*workerd@[0-9a-f]{4,}/;

/**
 * A failed connection of the Worker, which workerd logs before it throws in the Worker. The Worker catches the exception, and logs itself
 * which host could not be reached. Wrangler replaces the source by its own prefix.
 */
const NO_CONNECTION =
  /^(?:workerd\/(?:jsg\/util|api\/sockets)\.c\+\+:\d+: error:|\S+ \[ERROR\]) (?:.*[^\w])?e = (?:rust\/worker\/ffi\.rs|kj\/async-io[\w-]*\.c\+\+):\d+: failed: /;

/**
 * The time of an alarm in the runtime's list differs from the time in the object. This happens after a stop and is harmless: the object's
 * time is used. A failed alarm has another line. Wrangler replaces the source by its own prefix.
 */
const ALARM_MOVED =
  /(?:^workerd\/io\/actor-sqlite\.c\+\+:\d+: warning:|^\S+ \[WARNING\]) NOSENTRY SQLite alarm (?:overdue, running|handler canceled)/;

/** True for lines of workerd that do not help an operator: stack traces, and failures that Grove reports itself. */
export function isNoise(line: string): boolean {
  return STACK.test(line) || NO_CONNECTION.test(line) || ALARM_MOVED.test(line);
}

/** Shows workerd's standard error without its noise. */
export function followErrors(workerd: Child, show: (line: string) => void): void {
  for (const stream of workerd.streams) {
    createInterface({ input: stream }).on("line", (line) => {
      if (!isNoise(line)) show(line);
    });
  }
}
